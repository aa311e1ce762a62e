import type { ApplyEvent, ReadProgress } from '../engine/report.ts';
import type { Style } from './style.ts';
import { truncate } from './text-width.ts';
import { visible } from './visible.ts';

export interface ProgressOptions {
  write(text: string): void;
  /** True on a terminal, where one line is written over and over. */
  readonly interactive: boolean;
  readonly quiet?: boolean;
  readonly style: Style;
  /** Milliseconds, from any origin. */
  now(): number;
}

export interface Progress {
  read(progress: ReadProgress): void;
  apply(event: ApplyEvent): void;
  /** Takes the line away, so that other output can follow. Progress may go on afterwards. */
  clear(): void;
}

/** In milliseconds: how often the line of a terminal is redrawn at most, and how often a log hears that work goes on. */
const redrawEvery = 80;
const logEvery = 10_000;

const clearLine = '\r\u001b[2K';

/** Shows what is under way; driven by events alone, so that nothing is written between them. */
export function createProgress(options: ProgressOptions): Progress {
  if (options.quiet) return { read() {}, apply() {}, clear() {} };
  return options.interactive ? onTerminal(options) : inLog(options);
}

function onTerminal({ write, style, now }: ProgressOptions): Progress {
  let drawn = false;
  let last = Number.NEGATIVE_INFINITY;
  let finished = 0;
  const underWay = new Set<string>();

  const draw = (line: string, always = false) => {
    const time = now();
    if (!always && time - last < redrawEvery) return;
    last = time;
    drawn = true;
    write(clearLine + style.dim(truncate(line, style.width - 1)));
  };
  const clear = () => {
    if (drawn) write(clearLine);
    drawn = false;
    last = Number.NEGATIVE_INFINITY;
  };
  const applying = () =>
    `Applying: ${finished} finished${underWay.size === 0 ? '' : `, under way: ${[...underWay].map(visible).join(', ')}`}`;

  return {
    clear,
    read: ({ done, total }) => draw(`Reading: ${done} of ${total}`, done === total),
    apply(event) {
      if (event.type === 'started') underWay.add(event.address);
      else {
        underWay.delete(event.address);
        finished++;
        if (event.result.status === 'failed') {
          clear();
          write(`${outcome(event, style)}\n`);
        }
      }
      draw(applying());
    },
  };
}

/** What is done is in the result that follows: a log hears of failures at once, and of the rest now and then. */
function inLog({ write, style, now }: ProgressOptions): Progress {
  let last: number | undefined;
  let finished = 0;
  const sayNowAndThen = (line: string) => {
    const time = now();
    last ??= time;
    if (time - last < logEvery) return;
    last = time;
    write(`${line}\n`);
  };
  return {
    clear() {},
    read: ({ done, total }) => sayNowAndThen(`Reading: ${done} of ${total}`),
    apply(event) {
      if (event.type === 'finished') finished++;
      if (event.type === 'finished' && event.result.status === 'failed') write(`${outcome(event, style)}\n`);
      else sayNowAndThen(`Applying: ${finished} finished`);
    },
  };
}

function outcome({ address, result }: ApplyEvent & { type: 'finished' }, style: Style): string {
  const reason = result.status === 'failed' ? `: ${visible(result.error)}` : '';
  return `${visible(address)}: ${style.error('failed')}${reason}`;
}
