import { describe, expect, it } from 'vitest';
import { Interrupts, type StopSignal } from '../../src/cli/interrupts.ts';

describe('Interrupts', () => {
  it.each<[[StopSignal, number][], number | undefined, number[], string]>([
    [[], undefined, [], 'no signal'],
    [[['SIGINT', 0]], 130, [], 'one signal requests the end'],
    [[['SIGTERM', 0]], 143, [], 'one signal requests the end'],
    [[['SIGHUP', 0]], 143, [], 'a closing terminal requests the end'],
    [
      [
        ['SIGINT', 0],
        ['SIGINT', 1_000],
      ],
      130,
      [130],
      'a second signal forces the end',
    ],
    [
      [
        ['SIGINT', 0],
        ['SIGTERM', 1],
      ],
      130,
      [130],
      'a second signal of another kind forces the end at once',
    ],
    [
      [
        ['SIGINT', 0],
        ['SIGINT', 30],
      ],
      130,
      [],
      'npm forwards one Ctrl-C',
    ],
    [
      [
        ['SIGHUP', 0],
        ['SIGHUP', 30],
        ['SIGHUP', 900],
      ],
      143,
      [],
      'a closing terminal sends several signals',
    ],
    [
      [
        ['SIGHUP', 0],
        ['SIGTERM', 1],
      ],
      143,
      [143],
      'a signal after the terminal closed',
    ],
  ])('handles the signals %j', (signals, exitCode, orders, reason) => {
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

  it('aborts requests only while nothing is written', () => {
    const reading = new Interrupts(() => undefined);
    reading.raise('SIGINT');
    expect([reading.stop.reason, reading.requests.aborted]).toEqual(['SIGINT', true]);
    const writing = new Interrupts(() => undefined);
    writing.finishesRequests = true;
    writing.raise('SIGHUP');
    expect([writing.stop.reason, writing.requests.aborted]).toEqual(['SIGTERM', false]);
  });
});
