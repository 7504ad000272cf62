/** A server under examination, and how far it is trusted: not at all. */
export interface Endpoint {
  readonly url: URL;
  /** `HOST:PORT`; null: the server has no gRPC, or its address is not known. */
  readonly grpc: string | null;
  readonly token: string | undefined;
  /** Authority of its certificate (PEM). */
  readonly ca: Buffer | undefined;
  /** Take any certificate. */
  readonly insecure: boolean;
  /** Longest wait for one answer. */
  readonly timeoutMs: number;
  /** Largest answer that is read. */
  readonly maxAnswerBytes: number;
}
