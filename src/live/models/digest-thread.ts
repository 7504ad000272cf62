// Entry of the thread that computes a model's digest: hashing would hold up the scheduler.

import { type ModelContent, modelContent } from './digest.js';
import { answerCaller } from './measure/thread-call.js';

await answerCaller<string, ModelContent>(async (onnxPath) => modelContent(onnxPath));
