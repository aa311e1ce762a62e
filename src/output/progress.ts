import type { ApplyEvent } from '../engine/apply/apply-report.ts';
import type { ReadProgress } from '../engine/observe/read-records.ts';
import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';
import { truncate } from './text-width.ts';

export interface ProgressOptions {
  write(text: string): void;
  /** True on a terminal, where a single line is rewritten. */
  readonly interactive: boolean;
  readonly quiet?: boolean;
  /** The number of resources that an apply will write, if known. */
  readonly writes?: number | undefined;
  readonly style: Style;
  /** Returns the milliseconds of a monotonic clock. */
  now(): number;
}

export interface Progress {
  read(progress: ReadProgress): void;
  apply(event: ApplyEvent): void;
  /** Removes the line before other output. Progress may continue afterwards. */
  clear(): void;
}

/** The minimum milliseconds between updates on a terminal, and between log lines. */
const redrawEvery = 80;
const logEvery = 5000;

export const CLEAR_LINE = '\r\u001b[2K';

interface Surface {
  /** Shows a line if enough time has passed, or at once if `always` is true. Calls `line` only if the line is shown. */
  show(line: () => string, always?: boolean): void;
  /** Writes a permanent line. */
  keep(line: string): void;
  clear(): void;
}

/** Shows progress. It is updated only by events and has no timer, so it writes nothing between events. */
export function createProgress(options: ProgressOptions): Progress {
  const { style, now, writes, quiet } = options;
  if (quiet) return { read() {}, apply() {}, clear() {} };
  const surface = createSurface(options);
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
        const { address, result } = event;
        underWay.delete(address);
        finished++;
        const shown = escapeControls(address);
        if (result.status === 'failed')
          surface.keep(`${shown}: ${style.error('failed')}: ${escapeControls(result.error)}`);
      }
      writing.note(finished);
      surface.show(applyLine);
    },
  };
}

/** On a terminal, the line is rewritten. A log gets failures at once and other progress from time to time. */
function createSurface({ write, style, now, interactive }: ProgressOptions): Surface {
  const every = interactive ? redrawEvery : logEvery;
  let drawn = false;
  let last = interactive ? Number.NEGATIVE_INFINITY : undefined;
  const clear = (): void => {
    if (!interactive) return;
    if (drawn) write(CLEAR_LINE);
    drawn = false;
    last = Number.NEGATIVE_INFINITY;
  };
  return {
    clear,
    show(line, always = false) {
      const time = now();
      last ??= time;
      if (!(always && interactive) && time - last < every) return;
      last = time;
      drawn = true;
      write(interactive ? CLEAR_LINE + style.dim(truncate(line(), style.width - 1)) : `${line()}\n`);
    },
    keep(line) {
      clear();
      write(`${line}\n`);
    },
  };
}

/** The window of the rate, the time between its samples, and the minimum times before a rate and a remaining time are shown. */
const windowOf = 10_000;
const between = 500;
const enoughForRate = 1000;
const enoughForTime = 3000;
/** The minimum number of finished items before a remaining time is shown. */
const enoughDone = 10;

/** Measures the rate of the last seconds only, so that a slow start does not affect the estimate. */
export function createRateMeter(now: () => number) {
  const samples: { readonly at: number; readonly done: number }[] = [];
  let latest = 0;
  return {
    note(done: number) {
      const at = now();
      latest = done;
      const last = samples.at(-1);
      if (last === undefined || at - last.at >= between) samples.push({ at, done });
      while (samples.length > 1 && at - (samples[0]?.at ?? at) > windowOf) samples.shift();
    },
    /** Returns a text such as `, 34 a second, about 2 min left`, as far as it is known. */
    words(left: number | undefined) {
      const [first] = samples;
      const measured = first === undefined ? 0 : now() - first.at;
      if (first === undefined || measured < enoughForRate || latest === first.done) return '';
      const rate = (latest - first.done) / measured;
      const isKnown = left !== undefined && left > 0 && measured >= enoughForTime && latest >= enoughDone;
      return `, ${rateText(rate * 1000)}${isKnown ? `, about ${timeText(left / rate)} left` : ''}`;
    },
  };
}

function rateText(perSecond: number): string {
  if (perSecond >= 10) return `${Math.round(perSecond)} a second`;
  if (perSecond >= 1) return `${perSecond.toFixed(1)} a second`;
  return `${Math.max(1, Math.round(perSecond * 60))} a minute`;
}

/** Returns a rounded duration, such as `45 s` or `2 h 5 min`. */
function timeText(milliseconds: number): string {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
