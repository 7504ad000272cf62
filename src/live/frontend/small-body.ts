import { KIB } from '../../base/units.js';
import { inflate, inflatedBytes } from './codec/inflate.js';
import { contentEncoding } from './http-headers.js';
import { sendRefusal } from './http-reply.js';
import type { BodyReader, FrontendRequest } from './http-request.js';
import { type Json, parseObject } from './json-object.js';
import { asRefusal, type Refusal } from './refusal.js';

/** A body that is a small JSON object or nothing. */
export class SmallBody implements BodyReader {
  readonly limitBytes = 64 * KIB;

  constructor(private readonly use: (request: FrontendRequest, body: Json) => void | Promise<void>) {}

  async read(request: FrontendRequest, body: Buffer): Promise<void> {
    try {
      const encoding = contentEncoding(request);
      const { limitBytes } = this;
      const whole =
        encoding === null
          ? body
          : inflate({ encoding, body, expectedBytes: inflatedBytes(encoding, body, limitBytes), limitBytes });
      await this.use(request, whole.length === 0 ? {} : parseObject(whole, whole.length).root);
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  refuse(request: FrontendRequest, refusal: Refusal): void {
    sendRefusal(request, refusal);
  }
}
