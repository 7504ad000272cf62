// Entry of the thread in which two precisions of a model are compared.
import { compareSessions } from './compare-sessions.js';
import { answerCaller } from './thread-call.js';

await answerCaller(compareSessions);
