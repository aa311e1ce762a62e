import { type IncomingHttpHeaders, request } from 'node:http';
import { WrongTokens } from '../../src/operator/health/admission.ts';
import { listen } from '../../src/operator/health/listener.ts';
import { roles } from '../../src/operator/roles.ts';
import type { AccessOptions } from '../../src/page/access/access.ts';
import type { Person } from '../../src/page/access/person.ts';
import { sessionsInMemory } from '../../src/page/access/sessions.ts';
import { TrustedProxy } from '../../src/page/access/trusted-proxy.ts';
import { createPage } from '../../src/page/page-app.ts';
import type { SiteOptions } from '../../src/page/page-responses.ts';
import { NOW, SampleSource } from './sample-source.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly form?: Readonly<Record<string, string>>;
}

export interface RunningPage extends AsyncDisposable {
  readonly url: string;
  /** Unused if another source was given. */
  readonly source: SampleSource;
  /** The time of the page's clock. */
  time: Date;
  ask(path: string, sent?: Sent): Promise<Answer>;
  /** Signs in with a token and returns the cookie. */
  signIn(token: string): Promise<string>;
  /** Returns the token of the form on a page. */
  formToken(path: string, cookie: string): Promise<string>;
}

/** One person per role. The tokens are the names of the roles. */
const people: Readonly<Record<string, Person>> = Object.fromEntries(
  roles.map((role) => [`${role}-token`, { name: `${role}-ann`, role }]),
);

/** Starts a page over a real socket, with a token for each role. @param token that machines send. */
export async function runningPage(more: Partial<SiteOptions> = {}, token?: string): Promise<RunningPage> {
  const sample = new SampleSource();
  const source = more.source ?? sample;
  const made = { time: NOW };
  const wrongTokens = new WrongTokens({ now: () => made.time.getTime() });
  const address: Pick<AccessOptions, 'listen' | 'names' | 'proxy' | 'userHeader'> = {
    listen: { host: '127.0.0.1', port: 0 },
    names: [],
    proxy: new TrustedProxy([]),
    userHeader: undefined,
    ...more,
  };
  const errors: unknown[] = [];
  const page = createPage({
    ...address,
    tokens: { missing: undefined, origin: 'Ask ann for a token.', person: async (token) => people[token] },
    sessions: sessionsInMemory(() => made.time),
    wrongTokens,
    now: () => made.time,
    redact: (text) => text.replaceAll('hunter2', '(secret)'),
    onError: (error) => errors.push(error),
    pollIntervalMs: 5,
    reconciles: true,
    ...more,
    source,
  });
  const listener = await listen({
    ...address,
    token,
    isReady: () => true,
    status: () => ({}),
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
    reconcile: () => undefined,
    redact: (text) => text,
    wrongTokens,
    page,
  });
  const ask = asking(listener.url);
  return Object.assign(made, {
    url: listener.url,
    source: source instanceof SampleSource ? source : sample,
    ask,
    async signIn(token: string) {
      const { headers } = await ask('/sign-in', { form: { token, to: '/' } });
      return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    },
    async formToken(path: string, cookie: string) {
      const { text } = await ask(path, { headers: { cookie } });
      return /action="\/(?!sign-)[^>]*><input type="hidden" name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
    },
    async [Symbol.asyncDispose]() {
      page.close();
      await listener.close();
      if (errors.length > 0) throw errors[0];
    },
  });
}

/** Returns a function that sends requests to a page as a browser without scripts would. */
export function asking(url: string): RunningPage['ask'] {
  return (path, { method, headers, form } = {}) =>
    new Promise((resolve, reject) => {
      const body = form && new URLSearchParams(form).toString();
      const sent = request(
        `${url}${path}`,
        {
          method: method ?? (form === undefined ? 'GET' : 'POST'),
          // A kept-alive connection may be closed at the moment of its reuse.
          agent: false,
          headers: {
            accept: 'text/html',
            ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
            ...headers,
          },
        },
        (got) => {
          let text = '';
          got.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          got.on('end', () => resolve({ status: got.statusCode ?? 0, headers: got.headers, text }));
        },
      );
      sent.on('error', reject).end(body);
    });
}
