import {
  type Metadata,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
} from '@grpc/grpc-js';
import type { Arrivals } from './arrivals.js';

/** Notes when the headers of each gRPC call came: its method is called only when the whole message is decoded. */
export class GrpcArrivals {
  private readonly stamps = new WeakMap<Metadata, number>();

  constructor(private readonly arrivals: Arrivals) {}

  readonly interceptor: ServerInterceptor = (_method, call) => {
    const arrivalNs = this.arrivals.stampNs();
    const listener = new ServerListenerBuilder().withOnReceiveMetadata((metadata, next) => {
      this.stamps.set(metadata, arrivalNs);
      next(metadata);
    });
    const responder = new ResponderBuilder().withStart((next) => next(listener.build()));
    return new ServerInterceptingCall(call, responder.build());
  };

  /** `metadata`: of a call, as its method gets it. */
  of(metadata: Metadata): number {
    return this.stamps.get(metadata) ?? this.arrivals.stampNs();
  }
}
