import { aborted, type FailedCall, heldBack, tooLongAPause } from './failure.ts';
import { PauseTooLong, type Throttle, type Turn } from './throttle.ts';
import type { TransportOptions } from './transport-options.ts';

interface TurnsOptions extends Pick<TransportOptions, 'baseUrl' | 'shared'> {
  readonly throttle: Throttle;
  readonly stop: AbortSignal;
}

/** Turns to send: of the transport's own throttle, and of the limit that it shares with others. */
export class Turns {
  readonly #options: TurnsOptions;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** @throws PlatformError where the request is not sent any more. */
  async take(failed: () => FailedCall, again: boolean, heldBackBy: AbortSignal | undefined): Promise<Turn> {
    const { throttle, shared, baseUrl, stop } = this.#options;
    if (stop.aborted) throw aborted(failed());
    if (heldBackBy?.aborted) throw heldBack(failed());
    try {
      const turn = await throttle.take(again, heldBackBy);
      try {
        heldBackBy?.throwIfAborted();
        await shared?.take(baseUrl, heldBackBy === undefined ? [stop] : [stop, heldBackBy]);
        return turn;
      } catch (error) {
        throttle.release();
        throw error;
      }
    } catch (error) {
      if (error instanceof PauseTooLong) throw tooLongAPause(failed(), error.milliseconds, error.status);
      if (stop.aborted) throw aborted(failed());
      if (heldBackBy?.aborted) throw heldBack(failed());
      throw error;
    }
  }

  release(): void {
    const { throttle, shared, baseUrl } = this.#options;
    shared?.release(baseUrl);
    throttle.release();
  }
}
