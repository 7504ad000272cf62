import type { ServedModel } from '../model.js';
import type { InferenceService, ModelEntry } from '../service.js';
import { Call } from './call.js';
import type { Catalog } from './catalog.js';
import { type Compression, inflatedBytes, inflateSmall } from './codec/inflate.js';
import { ownBuffers } from './codec/own-buffers.js';
import { isWorthSplitting, type SplitInputs } from './codec/split-inputs.js';
import { DecodingLimit, mayNameSlo } from './decoding-limit.js';
import { mostAnswerBytes } from './frontend.js';
import { HttpExchange, outputsBound } from './http-exchange.js';
import { contentEncoding, jsonLength } from './http-headers.js';
import { type InferBody, type InferTask, readInferBody } from './http-infer-body.js';
import { sendRefusal } from './http-reply.js';
import type { BodyReader } from './http-request.js';
import type { HttpSite } from './http-site.js';
import { checkJsonSize } from './json-object.js';
import { hasLeft, type OpenRequest } from './open-request.js';
import { asRefusal, type Refusal } from './refusal.js';
import { requestSloNs } from './slo.js';
import { traceOf } from './traceparent.js';

/** What is parsed or decompressed in the thread that reads: more goes to a codec thread. */
const INLINE_BYTES = 64 * 1024;
/** Compressed, as even looking at it takes longer. */
const INLINE_COMPRESSED_BYTES = 4 * 1024;
/** A tensor takes up to so many times the bytes of its JSON: "0," is an FP64. */
const TENSOR_PER_JSON = 4;

/** POST …/infer: from the body to the service and back. */
export class HttpInfer implements BodyReader {
  readonly limitBytes = Number.POSITIVE_INFINITY;

  constructor(
    private readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly site: HttpSite,
  ) {}

  /** The whole body of a request whose `entry` is known. */
  read(request: OpenRequest, body: Buffer): void {
    try {
      const encoding = contentEncoding(request);
      if (encoding === null) this.parse(request, body);
      else this.inflate(request, encoding, body);
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  refuse(request: OpenRequest, refusal: Refusal): void {
    sendRefusal(request, refusal);
  }

  /** Decompressed. Throws a refusal. */
  parse(request: OpenRequest, body: Uint8Array): void {
    const { site, catalog } = this;
    const { maxJsonBytes } = site.settings;
    const jsonBytes = jsonLength(request, body.length);
    checkJsonSize(jsonBytes, maxJsonBytes);
    const model = catalog.ready(this.entryOf(request));
    const task = { body, jsonBytes, model, limits: site.settings };
    if (jsonBytes <= INLINE_BYTES) this.submit(request, readInferBody(task));
    else this.parseBeside(request, task);
  }

  /** Asks the service. `split`: the inputs, once they were cut up; `decodingNs`: from its arrival until a thread had decoded it. Throws a refusal. */
  submit(request: OpenRequest, parsed: InferBody, split: SplitInputs | null = null, decodingNs = 0): void {
    const { service, catalog, site } = this;
    // The model may have changed while the body came.
    const entry = this.entryOf(request);
    const model = catalog.ready(entry);
    const { inputs, count, sloNs, requestClass, shapes, length } = parsed;
    const answerBytes = outputsBound(model.signature, parsed, mostAnswerBytes(site.settings));
    let bytes = answerBytes;
    for (const tensors of split ?? [inputs]) for (const tensor of tensors) bytes += tensor.length;
    throwIf(request.hold(bytes));
    if (split === null && isWorthSplitting(parsed)) {
      // Codec threads are few, so the second copy of a batch is not counted.
      const waiting = new Splitting(this, request, parsed, decodingNs);
      site.codec.run(
        'splitInputs',
        { inputs, count },
        ownBuffers(inputs),
        site.tenants.turnOf(request),
        waiting,
      );
      return;
    }
    const trace = traceOf(request.headers);
    const call = new Call(count, new HttpExchange(request, model, parsed, answerBytes), request.quota);
    const { arrivalNs } = request;
    call.submit(service, {
      model: entry.index,
      arrivalNs,
      sloNs,
      requestClass,
      tenant: site.tenants.of(request.headers),
      inputs,
      split,
      shapes,
      length,
      decodingNs,
      trace,
    });
    request.isAsked = true;
  }

  private entryOf({ entry }: OpenRequest): ModelEntry {
    const { name, version } = entry as ModelEntry;
    return this.catalog.find(name, version);
  }

  private inflate(request: OpenRequest, encoding: Compression, body: Buffer): void {
    const { codec, settings, tenants } = this.site;
    const limitBytes = settings.maxBodyBytes;
    const expectedBytes = inflatedBytes(encoding, body, limitBytes);
    // If it becomes larger, that is held as soon as it is known: no more than one body for each codec thread goes uncounted.
    throwIf(request.hold(body.length + expectedBytes));
    const task = { encoding, body, expectedBytes, limitBytes };
    if (body.length <= INLINE_COMPRESSED_BYTES && expectedBytes <= INLINE_BYTES) {
      const small = inflateSmall(task, Math.min(limitBytes, INLINE_BYTES));
      if (small !== null) {
        this.parse(request, small);
        return;
      }
    }
    const waiting = new Inflating(this, request, this.limitOf(request, Number.POSITIVE_INFINITY));
    codec.run('inflateBody', task, ownBuffers([body]), tenants.turnOf(request), waiting);
  }

  private parseBeside(request: OpenRequest, task: InferTask): void {
    const { codec, settings, tenants } = this.site;
    const { body, jsonBytes, model } = task;
    throwIf(request.hold(body.length + TENSOR_PER_JSON * jsonBytes));
    const { maxBatch, maxBodyBytes, defaultSloNs, classes } = settings;
    const plain: InferTask = {
      ...task,
      model: withoutLabels(model),
      limits: { maxBatch, maxBodyBytes, defaultSloNs, classes },
    };
    const limit = this.limitOf(request, requestSloNs(undefined, undefined, model, defaultSloNs), () =>
      mayNameSlo(body, jsonBytes),
    );
    const waiting = new Parsing(this, request, limit);
    codec.run('readInferBody', plain, ownBuffers([body]), tenants.turnOf(request), waiting);
  }

  private limitOf(request: OpenRequest, sloNs: number, mayNameSlo = () => false): DecodingLimit {
    const { tenants, overRate, service } = this.site;
    const { arrivalNs, headers, clientKey } = request;
    const undecoded = { arrivalNs, sloNs, tenant: tenants.of(headers), clientKey, mayNameSlo };
    return new DecodingLimit(undecoded, overRate, service);
  }
}

/** They may be many, and reading needs none. */
function withoutLabels(model: ServedModel): ServedModel {
  return { ...model, labels: null };
}

function throwIf(refusal: Refusal | null): void {
  if (refusal !== null) throw refusal;
}

/** A body that is decompressed elsewhere. */
class Inflating {
  constructor(
    private readonly infer: HttpInfer,
    private readonly request: OpenRequest,
    readonly limit: DecodingLimit,
  ) {}

  get isGone(): boolean {
    return hasLeft(this.request);
  }

  coded(body: Uint8Array): void {
    try {
      throwIf(this.request.hold(body.length));
      this.infer.parse(this.request, body);
    } catch (error) {
      sendRefusal(this.request, asRefusal(error));
    }
  }

  notCoded(refusal: Refusal): void {
    sendRefusal(this.request, refusal);
  }
}

/** A body that is parsed elsewhere. */
class Parsing {
  constructor(
    private readonly infer: HttpInfer,
    private readonly request: OpenRequest,
    readonly limit: DecodingLimit,
  ) {}

  get isGone(): boolean {
    return hasLeft(this.request);
  }

  coded(parsed: InferBody): void {
    try {
      this.infer.submit(this.request, parsed, null, this.limit.passedNs);
    } catch (error) {
      sendRefusal(this.request, asRefusal(error));
    }
  }

  notCoded(refusal: Refusal): void {
    sendRefusal(this.request, refusal);
  }
}

/** A batch that is cut up elsewhere. */
class Splitting {
  constructor(
    private readonly infer: HttpInfer,
    private readonly request: OpenRequest,
    private readonly parsed: InferBody,
    private readonly decodingNs: number,
  ) {}

  get isGone(): boolean {
    return hasLeft(this.request);
  }

  coded(split: SplitInputs): void {
    try {
      this.infer.submit(this.request, this.parsed, split, this.decodingNs);
    } catch (error) {
      sendRefusal(this.request, asRefusal(error));
    }
  }

  notCoded(refusal: Refusal): void {
    sendRefusal(this.request, refusal);
  }
}
