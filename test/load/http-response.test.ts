import { describe, expect, it } from 'vitest';
import { ResponseReader } from '../../src/load/http-response.js';

const RESPONSES: Readonly<Record<string, string>> = {
  'a length': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  'no body': 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  'a status without body': 'HTTP/1.1 204 No Content\r\n\r\n',
  chunks:
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1a;x=y\r\n0\r\n\r\nHTTP/1.1 200 not me!!\r\n0\r\n\r\n',
  trailers: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nsum: 1\r\n\r\n',
  'an interim response': 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n!',
};

describe('a response with', () => {
  it.each(Object.entries(RESPONSES))('%s ends where it ends, however the network cuts it', (_, text) => {
    for (let cut = 0; cut <= text.length; cut++) {
      const reader = new ResponseReader();
      const parts = [text.slice(0, cut), text.slice(cut)];
      const complete = parts.map((part) => reader.push(Buffer.from(part, 'latin1')));
      expect(complete, `cut at ${cut}`).toEqual(cut === text.length ? [true, false] : [false, true]);
    }
    const reader = new ResponseReader();
    const complete = [...text].map((byte) => reader.push(Buffer.from(byte, 'latin1')));
    expect(complete.indexOf(true)).toBe(text.length - 1);
  });
});

it('reads many responses from one connection, each with its status', () => {
  const reader = new ResponseReader();
  for (const status of [200, 429, 504, 500]) {
    expect(reader.push(Buffer.from(`HTTP/1.1 ${status} x\r\ncontent-length: 2\r\n\r\n{}`))).toBe(true);
    expect(reader.status).toBe(status);
    expect(reader.closes).toBe(false);
  }
});

it('tells when the server closes afterwards', () => {
  const closes = (head: string) => {
    const reader = new ResponseReader();
    expect(reader.push(Buffer.from(`${head}\r\ncontent-length: 0\r\n\r\n`))).toBe(true);
    return reader.closes;
  };
  expect(closes('HTTP/1.1 200 OK\r\nConnection: close')).toBe(true);
  expect(closes('HTTP/1.1 200 OK')).toBe(false);
  expect(closes('HTTP/1.0 200 OK')).toBe(true);
  expect(closes('HTTP/1.0 200 OK\r\nconnection: Keep-Alive')).toBe(false);
});

it('takes a body without length to the end of the connection', () => {
  const reader = new ResponseReader();
  expect(reader.push(Buffer.from('HTTP/1.1 200 OK\r\n\r\nsome'))).toBe(false);
  expect(reader.push(Buffer.from(' more'))).toBe(false);
  expect(reader.end()).toBe(true);
});

it('is not complete when the connection ends within a response', () => {
  const reader = new ResponseReader();
  reader.push(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell'));
  expect(reader.end()).toBe(false);
});

it('refuses what is not HTTP', () => {
  const push = (text: string) => () => new ResponseReader().push(Buffer.from(text));
  expect(push('220 smtp.example ESMTP\r\n\r\n')).toThrow('does not speak HTTP/1.1');
  expect(push('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n')).toThrow('malformed chunk');
  expect(push('x'.repeat(70_000))).toThrow('endless header');
  expect(push('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK')).toThrow(
    'more than one response',
  );
});

it('keeps the begin of what a failure says, and nothing of a success', () => {
  const reader = new ResponseReader();
  const said = '{"error":"zu spät"}';
  const head = `HTTP/1.1 429 x\r\ncontent-length: ${Buffer.byteLength(said)}\r\n\r\n`;
  for (const byte of Buffer.from(head + said)) reader.push(Buffer.from([byte]));
  expect(reader.failure).toBe(said);
  reader.push(Buffer.from(RESPONSES['a length'] as string));
  expect(reader.failure).toBe('');
  const long = 'x'.repeat(1_000_000);
  reader.push(Buffer.from(`HTTP/1.1 500 x\r\ncontent-length: ${long.length}\r\n\r\n${long}`));
  expect(reader.failure).toBe('x'.repeat(4096));
  reader.push(Buffer.from('HTTP/1.1 502 x\r\nconnection: close\r\n\r\nBad '));
  reader.push(Buffer.from('gateway'));
  expect([reader.end(), reader.failure]).toEqual([true, 'Bad gateway']);
});
