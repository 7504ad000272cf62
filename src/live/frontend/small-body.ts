import { KIB } from '../../base/units.js';
import { inflate, inflatedBytes } from './codec/inflate.js';
import { contentEncoding } from './http-headers.js';
import { sendRefusal } from './http-reply.js';
import type { BodyReader, FrontendRequest } from './http-request.js';
import { type Json, parseObject } from './json-object.js';
import { asRefusal, Refusal, type RefusalKind, shown } from './refusal.js';

/** A body that is nothing, or a small JSON object with one member. */
export class SmallBody implements BodyReader {
  readonly limitBytes = 64 * KIB;

  constructor(
    private readonly member: string,
    /** The largest body that means something, for clients that send another. */
    private readonly example: string,
    /** Gets the member. */
    private readonly use: (request: FrontendRequest, value: unknown) => void | Promise<void>,
  ) {}

  async read(request: FrontendRequest, body: Buffer): Promise<void> {
    try {
      const encoding = contentEncoding(request);
      const { limitBytes } = this;
      const whole =
        encoding === null
          ? body
          : inflate({ encoding, body, expectedBytes: inflatedBytes(encoding, body, limitBytes), limitBytes });
      await this.use(request, whole.length === 0 ? undefined : this.valueIn(whole));
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  private valueIn(body: Uint8Array): unknown {
    let json: Json;
    try {
      json = parseObject(body, body.length).root;
    } catch (error) {
      const { kind, message } = asRefusal(error);
      throw this.wrong(message, kind);
    }
    for (const name in json)
      if (name !== this.member) throw this.wrong(`the body has the member ${shown(name)}`);
    return json[this.member];
  }

  private wrong(what: string, kind: RefusalKind = 'invalid'): Refusal {
    return new Refusal(kind, `${what}; send nothing or ${this.example}`);
  }

  refuse(request: FrontendRequest, refusal: Refusal): void {
    sendRefusal(request, refusal);
  }
}
