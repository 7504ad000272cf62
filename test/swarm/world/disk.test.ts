import { describe, expect, it } from 'vitest';
import type { Appender, Disk } from '../../../src/base/world/disk.js';
import { type SimMachine, Simulation } from './index.js';

const NAME = '/var/run.journal';

interface Given {
  readonly simulation: Simulation;
  readonly machine: SimMachine;
  readonly disk: Disk;
  readonly failures: string[];
  readonly append: (name?: string) => Appender;
}

function given(): Given {
  const simulation = new Simulation({ seed: 1 });
  const machine = simulation.machine('a');
  const process = machine.process('p', () => {});
  process.start();
  const failures: string[] = [];
  const { disk } = process.world;
  const append = (name = NAME) => disk.append(name, ({ message }) => failures.push(message));
  return { simulation, machine, disk, failures, append };
}

describe('a simulated disk', () => {
  it('keeps what was written, in order', async () => {
    const { simulation, machine, append } = given();
    const file = append();
    file.write('a\n');
    file.write('b\n');
    expect(file.unwrittenBytes).toBe(4);
    expect(machine.disk.read(NAME)).toBe('');
    await simulation.run(1e9);
    expect(machine.disk.read(NAME)).toBe('a\nb\n');
    expect(file.unwrittenBytes).toBe(0);
  });

  it('gives each file of a name a number', () => {
    const { disk, append } = given();
    expect(
      [append(), append(), append('/var/other.gz'), append('/var/other.gz')].map(({ path }) => path),
    ).toEqual([NAME, `${NAME}.1`, '/var/other.gz', '/var/other.1.gz']);
    expect(disk.numbered(NAME).map(({ number }) => number)).toEqual([0, 1]);
    expect(disk.remove(NAME)).toBe(true);
    expect(disk.touch(NAME)).toBeNull();
    expect(append().path).toBe(`${NAME}.2`);
  });

  it('can be full', async () => {
    const { simulation, machine, failures, append } = given();
    const file = append();
    machine.disk.faults.isFull = true;
    file.write('a');
    await simulation.run(1e9);
    expect(failures).toEqual([`ENOSPC: write '${NAME}'`]);
    expect(append).toThrow('ENOSPC');
  });

  it('can be slow', async () => {
    const { simulation, machine, append } = given();
    machine.disk.faults.slowByNs = 1e9;
    const file = append();
    for (const text of ['a', 'b', 'c']) file.write(text);
    await simulation.run(2.5e9);
    expect([machine.disk.read(NAME), file.unwrittenBytes]).toEqual(['ab', 1]);
  });

  it('loses the end of a file when the machine loses power, but not when a process crashes', async () => {
    const { simulation, machine, append } = given();
    const file = append();
    const old = 'old\n'.repeat(100);
    file.write(old);
    await simulation.run(10e9);
    file.write('new\n'.repeat(1000));
    await simulation.run(10.1e9);
    machine.processes.get('p')?.crash();
    expect(machine.disk.read(NAME)).toHaveLength(4400);
    machine.losePower();
    const left = machine.disk.read(NAME);
    expect(left.startsWith(old)).toBe(true);
    expect(left.length).toBeLessThan(4400);
  });
});
