import { EscapementError } from '../../base/errors.js';

/** Models are unknown and cannot be changed until a worker is up. */
export class NoWorker extends EscapementError {
  constructor() {
    super('E_WORKER', 'no worker is up');
  }
}
