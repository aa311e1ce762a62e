/** How runs are spaced, in milliseconds. */
export interface Pauses {
  readonly interval: number;
  /** After the first failed run; it doubles with each further one. */
  readonly firstRetry: number;
  readonly longestRetry: number;
}

/** Share by which an interval may be longer or shorter, so that many loops started at once drift apart. */
const SPREAD = 0.1;

/** @param random from 0 to 1. */
export function intervalPause({ interval }: Pauses, random: number): number {
  return interval * (1 + SPREAD * (2 * random - 1));
}

/**
 * The pause after that many failed runs in a row: between half and the whole of a time that doubles up to its cap.
 * @param failures from 1.
 * @param random from 0 to 1.
 */
export function retryPause({ firstRetry, longestRetry }: Pauses, failures: number, random: number): number {
  const whole = Math.min(longestRetry, firstRetry * 2 ** Math.min(failures - 1, 40));
  return whole * (0.5 + random / 2);
}
