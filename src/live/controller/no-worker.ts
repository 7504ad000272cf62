import { EscapementError } from '../../base/errors.js';

/** Nothing can be said of models, or done with them, until a worker is up. */
export class NoWorker extends EscapementError {
  constructor() {
    super('E_WORKER', 'no worker is up');
  }
}
