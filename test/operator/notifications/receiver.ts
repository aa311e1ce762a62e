import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../../src/operator/clock.ts';
import { Deliveries } from '../../../src/operator/notifications/deliveries.ts';
import type { RememberedEvents } from '../../../src/operator/notifications/notification-events.ts';
import { type NotifiedDriftStore, Notifier } from '../../../src/operator/notifications/notifier.ts';
import type { RunReport } from '../../../src/operator/run-report.ts';
import { notifyEvents } from '../../../src/project/notify-schema.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { Secret } from '../../../src/values/value.ts';
import { sampleReport } from '../sample-report.ts';

export const drift = { drift: [{ address: 'Agent/a', fields: ['name'], digest: '1' }] };
export const failed: Partial<RunReport> = {
  result: 'failed',
  error: new Error('no "answer"\n{{x}}'),
  plan: undefined,
};

type Answer = number | readonly [status: number, headers: Readonly<Record<string, string>>];

/** Starts a receiver that answers with these statuses, the last one repeatedly. */
export async function receiver(...answers: readonly Answer[]) {
  const bodies: { readonly header: unknown; readonly text: string }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (more: string) => (text += more));
    request.on('end', () => {
      const [status, headers] = [answers[bodies.length] ?? answers.at(-1) ?? 200].flat() as [number, object?];
      response.writeHead(status, { ...headers }).end();
      bodies.push({ header: request.headers['x-token'], text });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/s3cretpath`;
  return { url, bodies, [Symbol.dispose]: () => void server.close() };
}

const AT_END = 30_000;

interface NotifierOptions {
  readonly memory?: NotifiedDriftStore;
  readonly remembered?: RememberedEvents | undefined;
  readonly template?: JsonObject;
  readonly secret?: string;
}

export function notifierTo(url: string, { memory, remembered, template, secret = 'hunter2' }: NotifierOptions = {}) {
  const results: string[] = [];
  const log: string[] = [];
  const pauses: number[] = [];
  const deliveries = new Deliveries({
    // Makes backoff pauses zero.
    clock: {
      ...systemClock,
      after(milliseconds, act) {
        if (milliseconds === AT_END) return systemClock.after(milliseconds, act);
        pauses.push(milliseconds);
        return systemClock.after(0, act);
      },
    },
    random: () => 0,
  });
  const notifier = new Notifier({
    deliveries,
    log: { entry: (level, message) => log.push(`${level} ${message}`) },
    redact: (text) => text.replaceAll(secret, '(secret)'),
    onResult: (result) => results.push(result),
    store: memory,
    remembered,
  });
  const header = { name: 'X-Token', value: new Secret('TOKEN', 'open sesame') };
  const target = {
    url: new Secret('HOOK', url),
    shown: new URL(url).origin,
    header,
    on: notifyEvents,
    template,
    network: {},
  };
  const notify = { receivers: [target], problems: [] };
  return {
    notifier,
    flush: (milliseconds = AT_END) => deliveries.flush(milliseconds),
    results,
    log,
    pauses,
    tell: (report: Partial<RunReport>) => notifier.finished(sampleReport({ notify, ...report })),
  };
}
