import type { ApplyEvent } from '../engine/apply/apply-report.ts';
import type { ReadProgress } from '../engine/observe/read-records.ts';
import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';
import { truncate } from './text-width.ts';

export interface ProgressOptions {
  write(text: string): void;
  /** True on a terminal, where one line is rewritten. */
  readonly interactive: boolean;
  readonly quiet?: boolean;
  /** The number of resources that an apply will write, if known. */
  readonly writes?: number | undefined;
  readonly style: Style;
  /** Returns the time of a monotonic clock in milliseconds. */
  now(): number;
}

export interface Progress {
  read(progress: ReadProgress): void;
  apply(event: ApplyEvent): void;
  /** Clears the progress line before other output. Progress may continue afterwards. */
  clear(): void;
}

/** The minimum time between updates on a terminal, and between log lines. */
const REDRAW_INTERVAL_MS = 80;
const LOG_INTERVAL_MS = 5000;

export const CLEAR_LINE = '\r\u001b[2K';

interface Surface {
  /** Writes a line if enough time has passed, or at once on a terminal if `always` is true. Calls `line` only if it writes the line. */
  show(line: () => string, always?: boolean): void;
  /** Writes a permanent line. */
  keep(line: string): void;
  clear(): void;
}

/** Reports progress. Only events cause output; there is no timer, so nothing is written between events. */
export function createProgress(options: ProgressOptions): Progress {
  const { style, now, writes, quiet } = options;
  if (quiet) return { read() {}, apply() {}, clear() {} };
  const surface = createSurface(options);
  const reading = createRateMeter(now);
  const writing = createRateMeter(now);
  const inProgress = new Set<string>();
  let finished = 0;

  const readLine = ({ done, total, inFlight, growing }: ReadProgress): string => {
    const count = growing ? `${done}` : `${done} of ${total}`;
    const waiting = inFlight === 0 ? '' : `, ${inFlight} in flight`;
    return `Reading: ${count}${waiting}${reading.words(growing ? undefined : total - done)}`;
  };
  const applyLine = (): string => {
    const count = writes === undefined ? `${finished} finished` : `${finished} of ${writes}`;
    const remaining = writes === undefined ? undefined : writes - finished;
    const names = inProgress.size === 0 ? '' : `, in flight: ${[...inProgress].map(escapeControls).join(', ')}`;
    return `Applying: ${count}${writing.words(remaining)}${names}`;
  };

  return {
    clear: surface.clear,
    read(progress) {
      reading.note(progress.done);
      surface.show(() => readLine(progress), progress.done === progress.total && !progress.growing);
    },
    apply(event) {
      if (event.type === 'started') inProgress.add(event.address);
      else {
        const { address, result } = event;
        inProgress.delete(address);
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

/** On a terminal, rewrites one line. In a log, writes failures at once and other progress at intervals. */
function createSurface({ write, style, now, interactive }: ProgressOptions): Surface {
  const every = interactive ? REDRAW_INTERVAL_MS : LOG_INTERVAL_MS;
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

/** The window of the rate, the time between samples, and the minimum time before a rate and a remaining time are printed. */
const RATE_WINDOW_MS = 10_000;
const SAMPLE_INTERVAL_MS = 500;
const MIN_RATE_TIME_MS = 1000;
const MIN_ETA_TIME_MS = 3000;
/** The minimum number of finished items before a remaining time is printed. */
const MIN_DONE = 10;

/** Measures the rate of the last seconds only, so that a slow start does not affect the estimate. */
export function createRateMeter(now: () => number) {
  const samples: { readonly at: number; readonly done: number }[] = [];
  let latest = 0;
  return {
    note(done: number) {
      const at = now();
      latest = done;
      const last = samples.at(-1);
      if (last === undefined || at - last.at >= SAMPLE_INTERVAL_MS) samples.push({ at, done });
      while (samples.length > 1 && at - (samples[0]?.at ?? at) > RATE_WINDOW_MS) samples.shift();
    },
    /** Returns a string such as `, 34 a second, about 2 min left`. Unknown parts are omitted. */
    words(remaining: number | undefined) {
      const [first] = samples;
      const measured = first === undefined ? 0 : now() - first.at;
      if (first === undefined || measured < MIN_RATE_TIME_MS || latest === first.done) return '';
      const rate = (latest - first.done) / measured;
      const isKnown = remaining !== undefined && remaining > 0 && measured >= MIN_ETA_TIME_MS && latest >= MIN_DONE;
      return `, ${rateText(rate * 1000)}${isKnown ? `, about ${timeText(remaining / rate)} left` : ''}`;
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
