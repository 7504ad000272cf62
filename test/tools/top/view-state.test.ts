import { describe, expect, it } from 'vitest';
import {
  type Extent,
  FIRST_VIEW,
  type Key,
  pressed,
  QUIT,
  type ViewState,
} from '../../../src/tools/top/view-state.js';

const EXTENT: Extent = { page: 10, total: 35, columns: ['copies', 'arrived', 'good', 'name'] };

function key(sequence: string, over: Key = {}): Key {
  return { sequence, name: sequence.toLowerCase(), ...over };
}

/** The view after some keys. */
function after(keys: readonly Key[], from: ViewState = FIRST_VIEW): ViewState {
  return keys.reduce<ViewState>((view, each) => {
    const next = pressed(view, each, EXTENT);
    if (next === QUIT) throw new Error('quit');
    return next;
  }, from);
}

const named = (name: string, over: Key = {}): Key => ({ name, sequence: '', ...over });

describe('keys', () => {
  it('quit', () => {
    expect(pressed(FIRST_VIEW, key('q'), EXTENT)).toBe(QUIT);
    expect(pressed(FIRST_VIEW, named('c', { ctrl: true }), EXTENT)).toBe(QUIT);
    expect(pressed({ ...FIRST_VIEW, typing: true }, named('c', { ctrl: true }), EXTENT)).toBe(QUIT);
    expect(pressed({ ...FIRST_VIEW, help: true }, key('q'), EXTENT)).toBe(QUIT);
  });

  it('scroll no further than there are models', () => {
    const scrollAfter = (...keys: Key[]) => after(keys).scroll;
    expect(scrollAfter(named('up'))).toBe(0);
    expect(scrollAfter(named('down'), key('j'), key('j'), key('k'))).toBe(2);
    expect(scrollAfter(named('pagedown'), named('pagedown'))).toBe(20);
    expect(scrollAfter(named('pagedown'), named('pagedown'), named('pagedown'))).toBe(25);
    expect(scrollAfter(key('G'))).toBe(25);
    expect(scrollAfter(key('G'), named('pageup'))).toBe(15);
    expect(scrollAfter(named('end'), key('g'))).toBe(0);
    expect(pressed(FIRST_VIEW, named('down'), { ...EXTENT, total: 3 })).toMatchObject({ scroll: 0 });
  });

  it('change the column that is sorted by, among those that are shown', () => {
    const sorts = ['>', '>', '>', '>'].map(
      (_, i, keys) => after(keys.slice(0, i + 1).map((k) => key(k))).sort,
    );
    expect(sorts).toEqual(['good', 'name', 'copies', 'arrived']);
    expect(after([key('<')]).sort).toBe('copies');
    expect(after([key('s'), key('S')]).sort).toBe('arrived');
    expect(after([key('r')])).toMatchObject({ reversed: true, sort: 'arrived' });
    expect(after([key('r'), key('s')]).reversed).toBe(false);
  });

  it('type a filter', () => {
    const typed = after([key('j'), key('/'), key('q'), key('5'), key('X')]);
    expect(typed).toMatchObject({ typing: true, filter: 'q5X', scroll: 0 });
    expect(after([named('backspace')], typed).filter).toBe('q5');
    expect(after([named('return')], typed)).toMatchObject({ typing: false, filter: 'q5X' });
    expect(after([named('escape')], typed)).toMatchObject({ typing: false, filter: '' });
    expect(after([named('return'), named('escape')], typed).filter).toBe('');
    expect(after([{ name: 'up', sequence: '\u001b[A' }], typed).filter).toBe('q5X');
  });

  it('pause, and show the help until the next key', () => {
    expect(after([key('p')]).paused).toBe(true);
    expect(after([key('p'), key(' ')]).paused).toBe(false);
    expect(after([key('?')]).help).toBe(true);
    expect(after([key('?'), key('p')])).toMatchObject({ help: false, paused: false });
  });

  it('of no meaning change nothing', () => {
    expect(pressed(FIRST_VIEW, named('f5'), EXTENT)).toBe(FIRST_VIEW);
    expect(pressed(FIRST_VIEW, {}, EXTENT)).toBe(FIRST_VIEW);
  });
});
