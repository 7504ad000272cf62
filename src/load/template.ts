import { NS_PER_MS } from '../base/units.js';

/** A request as it goes over the wire, in one piece or in two. */
export interface Message {
  readonly head: Buffer;
  /** Shared by all requests of the same tensors; null: part of the head. */
  readonly tail: Buffer | null;
}

/** What makes the requests of one model. */
export interface RequestMaker {
  encode(sloNs: number): Message;
}

/** Takes one template after the other, and starts over after the last. */
export class TemplateCycle implements RequestMaker {
  private next = 0;

  constructor(private readonly templates: readonly RequestTemplate[]) {}

  encode(sloNs: number): Message {
    const template = this.templates[this.next] as RequestTemplate;
    this.next = (this.next + 1) % this.templates.length;
    return template.encode(sloNs);
  }
}

/** Up to this size one copy is cheaper than two writes. */
const JOIN_BYTES = 16_384;

/**
 * Requests of one model, encoded before they are needed: only the SLO differs from one to the next, and most
 * requests of a model have the same. So the latest encoding is kept.
 */
export class RequestTemplate implements RequestMaker {
  private sloNs = Number.NaN;
  private message: Message = { head: Buffer.alloc(0), tail: null };

  constructor(
    private readonly headFor: (sloMs: number) => Buffer,
    private readonly tail: Buffer,
  ) {}

  encode(sloNs: number): Message {
    if (sloNs !== this.sloNs) {
      const head = this.headFor(sloNs / NS_PER_MS);
      const small = head.length + this.tail.length <= JOIN_BYTES;
      this.message = small
        ? { head: Buffer.concat([head, this.tail]), tail: null }
        : { head, tail: this.tail };
      this.sloNs = sloNs;
    }
    return this.message;
  }
}
