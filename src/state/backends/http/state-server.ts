import { readErrorBody } from '../../../platform/error-body.ts';
import { isSuccess } from '../../../platform/exchange.ts';
import { looksLikeMarkup } from '../../../platform/plain-text.ts';
import { pauseOfRefusal } from '../../../platform/retry.ts';
import { advice, command, UserError } from '../../../problems/user-error.ts';
import { isLoopback } from '../../../values/loopback.ts';
import { Redactor } from '../../../values/redactor.ts';
import type { Secret } from '../../../values/value.ts';
import type { StoreUser } from '../backend.ts';
import { Busy } from '../object-store/retries.ts';
import { revealed } from '../settings.ts';
import { StoreRequests } from '../store-requests.ts';

interface StateServerOptions {
  /** Location of the state for messages. */
  readonly location: string;
  readonly username: Secret | string | undefined;
  readonly password: Secret | undefined;
  readonly user: Pick<StoreUser, 'network' | 'debug' | 'warn'>;
  /** The timeout of one request, from connecting to the last byte of the response. */
  readonly timeoutMilliseconds?: number | undefined;
}

export interface StateResponse {
  readonly status: number;
  readonly body: Buffer;
  /** Status and reason of a response, for messages, e.g. `409 State is locked`. */
  readonly reason: string;
}

const MAX_REDIRECTS = 3;

/** Sends the requests of one store, and distinguishes responses, temporary failures and configuration errors. */
export class StateServer {
  readonly #options: StateServerOptions;
  readonly #redactor = new Redactor();
  readonly #requests: StoreRequests;
  #authorization: string | undefined;

  constructor(options: StateServerOptions) {
    this.#options = options;
    this.#requests = new StoreRequests({ ...options, setting: 'state.address', redact: this.#redactor.redact });
  }

  /**
   * Sends a request. Returns responses with error statuses too, e.g. 404 and 409.
   * @throws UserError for rejected credentials, redirects and untrusted certificates; Error for temporary failures: 408, 429, 503, and a
   * missing response, after which the write may have been executed.
   */
  async request(
    method: string,
    address: string,
    { body, signal }: { body?: Buffer; signal: AbortSignal },
  ): Promise<StateResponse> {
    let url = new URL(address);
    for (let redirects = 0; ; redirects++) {
      const authorization = this.#credentials(url);
      const headers = { 'cache-control': 'no-cache', ...(authorization !== undefined && { authorization }) };
      const result = await this.#requests.send({ method, url, headers, body, signal });
      const { status } = result;
      const target = status >= 300 && status < 400 ? targetOf(result.headers.location, url) : undefined;
      if (target !== undefined && target.origin === url.origin && method === 'GET') {
        if (redirects === MAX_REDIRECTS) throw this.#addressError(`redirects more than ${MAX_REDIRECTS} times`);
        url = target;
        continue;
      }
      const { code, detail } = readErrorBody(result.body, this.#redactor.redact);
      const reason = isSuccess(status) ? String(status) : [status, detail ?? code].filter(Boolean).join(' ');
      if (status >= 300 && status < 400) {
        const destination = target === undefined ? '' : ` to ${target.origin}`;
        throw this.#addressError(`redirects ${method} requests${destination} (${status})`);
      }
      if (isSuccess(status) && looksLikeMarkup(result.body.toString('utf8', 0, 200))) {
        throw new UserError(`${url.host} responded to ${method} with a web page instead of a state`, {
          hint: 'Check state.address. The response may be from a proxy or a sign-in page.',
        });
      }
      this.#refuse(status, reason);
      if (status === 408 || status === 429 || status === 503) {
        throw new Busy(`${url.host} responded with ${reason}`, pauseOfRefusal(result, Date.now()));
      }
      return { status, body: result.body, reason };
    }
  }

  #credentials(url: URL): string | undefined {
    const { username, password, location, user } = this.#options;
    if (username === undefined && password === undefined) return undefined;
    if (this.#authorization === undefined) {
      const name = username === undefined ? '' : revealed('username', username);
      const secret = password === undefined ? '' : revealed('password', password);
      this.#authorization = `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
      this.#redactor.add(secret);
      this.#redactor.add(`${name}:${secret}`);
      if (url.protocol === 'http:' && !isLoopback(url.host)) {
        user.warn?.(`the password of the state ${location} is sent without encryption; use https`);
      }
    }
    return this.#authorization;
  }

  #refuse(status: number, reason: string): void {
    const { location, username, password } = this.#options;
    if (status === 401) {
      const hasNone = username === undefined && password === undefined;
      throw new UserError(
        `the state ${location} ${hasNone ? 'requires a user name and a password' : 'rejected the user name or the password'} (${reason})`,
        { hint: 'Check state.username and state.password.' },
      );
    }
    if (status === 403) {
      throw new UserError(`no permission for the state ${location} (${reason})`, {
        hint: 'The user of state.username and state.password needs permission to read, write and lock the state.',
      });
    }
    if (status === 413) {
      throw new UserError(`the state ${location} is too large for its server (${reason})`, {
        hint: advice`Raise the limit of the server, or move the state: ${command('state move')}.`,
      });
    }
  }

  #addressError(problem: string): UserError {
    return new UserError(`the state ${this.#options.location} ${problem}`, {
      hint: 'Set state.address, lock_address and unlock_address to the final addresses.',
    });
  }
}

function targetOf(location: string | undefined, from: URL): URL | undefined {
  return location !== undefined && URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
}
