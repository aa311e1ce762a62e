import { describe, expect, it } from 'vitest';
import { Interrupts, type StopSignal } from '../../src/cli/interrupts.ts';

describe('signals to a run', () => {
  it.each<[[StopSignal, number][], number | undefined, number[], string]>([
    [[], undefined, [], 'none'],
    [[['SIGINT', 0]], 130, [], 'one asks'],
    [[['SIGTERM', 0]], 143, [], 'one asks'],
    [[['SIGHUP', 0]], 143, [], 'a terminal that closes asks'],
    [
      [
        ['SIGINT', 0],
        ['SIGINT', 1_000],
      ],
      130,
      [130],
      'a second one orders',
    ],
    [
      [
        ['SIGINT', 0],
        ['SIGTERM', 1],
      ],
      130,
      [130],
      'a second one of another kind orders at once',
    ],
    [
      [
        ['SIGINT', 0],
        ['SIGINT', 30],
      ],
      130,
      [],
      'one Ctrl-C that npm hands on',
    ],
    [
      [
        ['SIGHUP', 0],
        ['SIGHUP', 30],
        ['SIGHUP', 900],
      ],
      143,
      [],
      'a terminal that closes tells it several times',
    ],
    [
      [
        ['SIGHUP', 0],
        ['SIGTERM', 1],
      ],
      143,
      [143],
      'an order after the terminal closed',
    ],
  ])('%j', (signals, exitCode, orders, reason) => {
    const given: number[] = [];
    let time = 0;
    const interrupts = new Interrupts(
      (code) => given.push(code),
      () => time,
    );
    for (const [signal, at] of signals) {
      time = at;
      interrupts.raise(signal);
    }
    expect({ exitCode: interrupts.exitCode, given, reason }).toEqual({ exitCode, given: orders, reason });
  });

  it('gives requests up only while nothing is written', () => {
    const reading = new Interrupts(() => undefined);
    reading.raise('SIGINT');
    expect([reading.stop.reason, reading.requests.aborted]).toEqual(['SIGINT', true]);
    const writing = new Interrupts(() => undefined);
    writing.finishesRequests = true;
    writing.raise('SIGHUP');
    expect([writing.stop.reason, writing.requests.aborted]).toEqual(['SIGTERM', false]);
  });
});
