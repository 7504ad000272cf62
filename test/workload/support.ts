import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll } from 'vitest';
import type { EscapementError } from '../../src/base/errors.js';
import type { StreamedSource } from '../../src/workload/index.js';
import { BaseSource } from '../../src/workload/source.js';

export interface Arrival {
  readonly timeNs: number;
  readonly model: number;
  readonly sloNs: number;
  readonly user: number;
}

/** Starves after every `block` arrivals, as a file would. */
export abstract class BlockSource extends BaseSource {
  /** Number of the present arrival. */
  protected next = 0;

  constructor(
    sloNs: number,
    users: number,
    private readonly block: number,
  ) {
    super(sloNs, users);
  }

  override advance(): void {
    this.next++;
    if (this.next % this.block === 0) this.starved = true;
    else this.show();
  }

  override async refill(): Promise<void> {
    this.starved = false;
    this.show();
  }

  protected abstract show(): void;
}

/** Plays a source to its end. Only for sources that end by themselves. */
export async function collect(source: StreamedSource): Promise<Arrival[]> {
  const arrivals: Arrival[] = [];
  for (;;) {
    while (source.starved) await source.refill();
    if (source.timeNs === Number.POSITIVE_INFINITY) return arrivals;
    arrivals.push({ timeNs: source.timeNs, model: source.model, sloNs: source.sloNs, user: source.user });
    source.advance();
  }
}

export function modelNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `model${i}`);
}

/** A folder that is removed after the tests of the file; `file` writes into it and gives the path. */
export function scratch(): { readonly folder: string; file(name: string, content: string | Buffer): string } {
  const folder = mkdtempSync(join(tmpdir(), 'escapement-workload-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    folder,
    file(name, content) {
      const path = join(folder, name);
      writeFileSync(path, name.endsWith('.gz') && typeof content === 'string' ? gzipSync(content) : content);
      return path;
    },
  };
}

/** The coded error that `action` ends with, as the parts that people and scripts rely on. */
export async function failure(action: () => unknown): Promise<{ code: string; message: string }> {
  try {
    await action();
  } catch (error) {
    const { code, message } = error as EscapementError;
    return { code, message };
  }
  return { code: 'none', message: '' };
}

const SHARED = resolve(import.meta.dirname, '../../../shared/data/traces');

/** Path of a file of the public dataset, kept next to the repository where there is a copy. */
export function sharedTrace(name: string): { readonly path: string; readonly present: boolean } {
  const path = join(SHARED, name);
  return { path, present: existsSync(path) };
}
