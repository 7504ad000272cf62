import { usageOf } from '../usage.js';

export const usage = usageOf({ examples: ['exit-codes'] });
