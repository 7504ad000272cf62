/** A server or a worker that runs. */
export interface Stoppable {
  /** Drains, then closes everything. */
  close(): Promise<void>;
}
