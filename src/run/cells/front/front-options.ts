/** Where the front listens, and what it has to hold. */
export interface FrontOptions {
  readonly host: string;
  readonly httpPort: number;
  /** Null: no gRPC. */
  readonly grpcPort: number | null;
  /** Largest gRPC message that can be routed, bytes. */
  readonly messageBytes: number;
}
