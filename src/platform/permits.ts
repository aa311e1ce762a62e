import type { WritePermission } from './client.ts';
import { aborted, type FailedCall, notSentError, pauseTooLongError } from './failure.ts';
import { PauseTooLong, type Permit, type Throttle } from './throttle.ts';
import type { TransportOptions } from './transport-options.ts';

interface WantedPermit {
  readonly cancelWrites: AbortSignal | undefined;
  readonly permission: WritePermission | undefined;
  /** True for a retry. */
  readonly again: boolean;
}

interface PermitsOptions extends Pick<TransportOptions, 'shared'> {
  readonly origin: string;
  readonly throttle: Throttle;
  readonly stop: AbortSignal;
}

/** Issues permits from the transport's own throttle and from the shared limit. */
export class Permits {
  readonly #options: PermitsOptions;

  constructor(options: PermitsOptions) {
    this.#options = options;
  }

  /** @throws PlatformError if the request must no longer be sent. */
  async take(failed: () => FailedCall, wanted: WantedPermit): Promise<Permit> {
    const { throttle, shared, origin, stop } = this.#options;
    const { again, cancelWrites, permission } = wanted;
    if (stop.aborted) throw aborted(failed());
    if (cancelWrites?.aborted) throw notSentError(failed());
    try {
      const permit = await throttle.take(again, cancelWrites);
      try {
        cancelWrites?.throwIfAborted();
        await shared?.take(origin, cancelWrites === undefined ? [stop] : [stop, cancelWrites]);
      } catch (error) {
        throttle.release();
        throw error;
      }
      try {
        if (permission?.mayWrite === false) {
          await permission.renew().catch((error: unknown) => {
            throw notSentError(failed(), error);
          });
        }
        cancelWrites?.throwIfAborted();
        return permit;
      } catch (error) {
        this.release();
        throw error;
      }
    } catch (error) {
      if (error instanceof PauseTooLong) throw pauseTooLongError(failed(), error.milliseconds, error.status);
      if (stop.aborted) throw aborted(failed());
      if (cancelWrites?.aborted) throw notSentError(failed());
      throw error;
    }
  }

  release(): void {
    const { throttle, shared, origin } = this.#options;
    shared?.release(origin);
    throttle.release();
  }
}
