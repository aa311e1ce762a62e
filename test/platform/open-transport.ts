import { onTestFinished } from 'vitest';
import { PlatformError } from '../../src/platform/platform-error.ts';
import { type RequestEvent, Transport, type TransportOptions } from '../../src/platform/transport.ts';
import { Secret } from '../../src/values/value.ts';
import { TestClock } from './clock.ts';

export const API_KEY = 'vk_live_4f9c1e7ab2';
export const BASE_URL = 'https://platform.example.com';

export interface OpenTransport {
  readonly transport: Transport;
  readonly clock: TestClock;
  readonly events: RequestEvent[];
  readonly notices: string[];
}

/** Returns a transport with pauses of zero length and without jitter. It is closed at the end of the test. */
export function openTransport(overrides: Partial<TransportOptions> = {}): OpenTransport {
  const clock = new TestClock();
  const events: RequestEvent[] = [];
  const notices: string[] = [];
  const transport = new Transport({
    baseUrl: BASE_URL,
    apiKey: new Secret('PLATFORM_KEY', API_KEY),
    concurrency: 4,
    requestsPerSecond: null,
    timeoutSeconds: 20,
    onRequest: (event) => events.push(event),
    onNotice: (text) => notices.push(text),
    now: clock.now,
    wait: clock.wait,
    random: () => 1,
    ...overrides,
  });
  onTestFinished(() => transport.close());
  return { transport, clock, events, notices };
}

/** Returns the `PlatformError` of a rejected promise. */
export async function failureFrom(promise: Promise<unknown>): Promise<PlatformError> {
  const error = await promise.then(
    (value) => {
      throw new Error(`expected a failure, got ${JSON.stringify(value)}`);
    },
    (reason: unknown) => reason,
  );
  if (error instanceof PlatformError) return error;
  throw error;
}
