/** A client hears sooner that it should come back than it would give up. */
const QUEUE_TIMEOUT_MS = 5000;
