/** In milliseconds: what the rate is taken from, how far apart its samples are, and from when on it means something. */
const windowOf = 10_000;
const between = 500;
const enoughForRate = 1000;
const enoughForTime = 3000;
/** Fewest finished before the remaining time is estimated. */
const enoughDone = 10;

/** A rate over the last seconds: a run that is made to wait, or goes faster again, must not be judged by its beginning. */
export function createRateMeter(now: () => number) {
  const samples: { readonly at: number; readonly done: number }[] = [];
  let latest = 0;
  const rateAt = (time: number): { readonly rate: number; readonly for: number } => {
    const [first] = samples;
    if (first === undefined || time <= first.at) return { rate: 0, for: 0 };
    return { rate: (latest - first.done) / (time - first.at), for: time - first.at };
  };
  return {
    note(done: number) {
      const at = now();
      latest = done;
      const last = samples.at(-1);
      if (last === undefined || at - last.at >= between) samples.push({ at, done });
      while (samples.length > 1 && at - (samples[0]?.at ?? at) > windowOf) samples.shift();
    },
    /** What can be said so far, e.g. `, 34 a second, about 2 min left`; nothing where it would mean nothing. */
    words(left: number | undefined) {
      const { rate, for: measured } = rateAt(now());
      if (measured < enoughForRate || rate === 0) return '';
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

/** Milliseconds as a person would say them; never finer than what is known. */
function timeText(milliseconds: number): string {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
