/** What a job gives back: plain data, and the buffers in it that move to the asking thread instead of being copied. */
export interface JobResult<Value> {
  readonly value: Value;
  readonly transfer: readonly ArrayBuffer[];
}
