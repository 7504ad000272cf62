import { expect, it } from 'vitest';
import { EventReader } from '../../../src/play/live/event-reader.js';

it('reads the same events, however the stream is cut', () => {
  const stream = 'event: setup\ndata: {"a": "b: c"}\n\nevent: rows\ndata: {}\n\nevent: sta';
  const expected = [
    { event: 'setup', data: '{"a": "b: c"}' },
    { event: 'rows', data: '{}' },
  ];
  for (let cut = 1; cut < stream.length; cut++) {
    const reader = new EventReader();
    expect([...reader.read(stream.slice(0, cut)), ...reader.read(stream.slice(cut))]).toEqual(expected);
  }
});
