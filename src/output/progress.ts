import type { ApplyEvent } from '../engine/apply/apply-report.ts';
import type { ReadProgress } from '../engine/observe/read-counter.ts';
import { escapeControls } from './escape-controls.ts';
import { createRateMeter } from './rate-meter.ts';
import type { Style } from './style.ts';
import { truncate } from './text-width.ts';

export interface ProgressOptions {
  write(text: string): void;
  /** True on a terminal, where one line is written over and over. */
  readonly interactive: boolean;
  readonly quiet?: boolean;
  /** How many resources an apply will write, where that is known. */
  readonly writes?: number | undefined;
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
const logEvery = 5000;

/** Empties the line that the cursor is on, and goes to its beginning. */
export const CLEAR_LINE = '\r\u001b[2K';

/** Shows what is under way; driven by events alone, so that nothing is written between them. */
export function createProgress(options: ProgressOptions): Progress {
  if (options.quiet) return { read() {}, apply() {}, clear() {} };
  const surface = options.interactive ? onTerminal(options) : inLog(options);
  return following(options, surface);
}

interface Surface {
  /** `always` for what should be seen even if the last line is very fresh. The line is made only when it is shown. */
  show(line: () => string, always?: boolean): void;
  /** Something that stays. */
  keep(line: string): void;
  clear(): void;
}

function following({ style, now, writes }: ProgressOptions, surface: Surface): Progress {
  const reading = createRateMeter(now);
  const writing = createRateMeter(now);
  const underWay = new Set<string>();
  let finished = 0;

  const readLine = ({ done, total, inFlight, growing }: ReadProgress): string => {
    const count = growing ? `${done}` : `${done} of ${total}`;
    const waiting = inFlight === 0 ? '' : `, ${inFlight} in flight`;
    return `Reading: ${count}${waiting}${reading.words(growing ? undefined : total - done)}`;
  };
  const applyLine = (): string => {
    const count = writes === undefined ? `${finished} finished` : `${finished} of ${writes}`;
    const left = writes === undefined ? undefined : writes - finished;
    const names = underWay.size === 0 ? '' : `, in flight: ${[...underWay].map(escapeControls).join(', ')}`;
    return `Applying: ${count}${writing.words(left)}${names}`;
  };

  return {
    clear: surface.clear,
    read(progress) {
      reading.note(progress.done);
      surface.show(() => readLine(progress), progress.done === progress.total && !progress.growing);
    },
    apply(event) {
      if (event.type === 'started') underWay.add(event.address);
      else {
        underWay.delete(event.address);
        finished++;
        if (event.result.status === 'failed') surface.keep(outcome(event, style));
      }
      writing.note(finished);
      surface.show(applyLine);
    },
  };
}

function onTerminal({ write, style, now }: ProgressOptions): Surface {
  let drawn = false;
  let last = Number.NEGATIVE_INFINITY;
  const clear = (): void => {
    if (drawn) write(CLEAR_LINE);
    drawn = false;
    last = Number.NEGATIVE_INFINITY;
  };
  return {
    clear,
    show(line, always = false) {
      const time = now();
      if (!always && time - last < redrawEvery) return;
      last = time;
      drawn = true;
      write(CLEAR_LINE + style.dim(truncate(line(), style.width - 1)));
    },
    keep(line) {
      clear();
      write(`${line}\n`);
    },
  };
}

/** What is done is in the result that follows: a log hears of failures at once, and of the rest now and then. */
function inLog({ write, now }: ProgressOptions): Surface {
  let last: number | undefined;
  return {
    clear() {},
    show(line) {
      const time = now();
      last ??= time;
      if (time - last < logEvery) return;
      last = time;
      write(`${line()}\n`);
    },
    keep: (line) => write(`${line}\n`),
  };
}

function outcome({ address, result }: ApplyEvent & { type: 'finished' }, style: Style): string {
  const reason = result.status === 'failed' ? `: ${escapeControls(result.error)}` : '';
  return `${escapeControls(address)}: ${style.error('failed')}${reason}`;
}
