// @ts-check

/** An error that the user can fix: printed as one line, without a stack. */
export class Refusal extends Error {}

/**
 * @typedef {object} Exchange
 * @property {string} token Sent as a bearer token; fetch drops it on a redirect to another host.
 * @property {'GET' | 'POST' | 'PATCH' | 'PUT'} [method]
 * @property {unknown} [body] Sent as JSON.
 * @property {readonly number[]} [pauses] Milliseconds before each retry.
 */

/**
 * One exchange with the API of a CI host. Retried after 429, 5xx and network errors, except a POST, which may have succeeded.
 * @param {string} url
 * @param {Exchange} exchange
 * @returns {Promise<Response>} an answer of 2xx
 * @throws {Refusal} naming the method, the path and the status
 */
export async function call(url, { token, method = 'GET', body, pauses = [1000, 4000] }) {
  const said = `${method} ${new URL(url).pathname}`;
  for (let attempt = 0; ; attempt++) {
    const pause = method === 'POST' ? undefined : pauses[attempt];
    const answer = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'user-agent': 'voxform-ci',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    }).catch((/** @type {unknown} */ error) => reasonOf(error));
    if (typeof answer !== 'string' && answer.ok) return answer;
    const mayPass = typeof answer === 'string' || answer.status === 429 || answer.status >= 500;
    if (!mayPass || pause === undefined) {
      throw new Refusal(`${said}: ${typeof answer === 'string' ? answer : await explained(answer)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/**
 * The items of a paged list.
 * @param {string} url
 * @param {{ token: string, itemsOf?: (page: any) => any[] }} options
 */
export async function* pages(url, { token, itemsOf = (page) => page }) {
  /** @type {string | undefined} */
  let next = url;
  while (next !== undefined) {
    const answer = await call(next, { token });
    yield* itemsOf(await answer.json());
    next = nextPage(answer, url);
  }
}

/**
 * The link to the next page. A link to another host is refused, because the token would go there.
 * @param {Response} answer
 * @param {string} url
 */
function nextPage(answer, url) {
  const link = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(answer.headers.get('link') ?? '')?.[1];
  if (link === undefined) return undefined;
  const next = new URL(link, url);
  if (next.origin !== new URL(url).origin) throw new Refusal(`the next page lies on another host, ${next.host}`);
  return next.href;
}

/** @param {Response} answer */
async function explained(answer) {
  const text = await answer.text().catch(() => '');
  /** @type {unknown} */
  let message;
  try {
    const { message: one, error } = JSON.parse(text);
    message = one ?? error;
  } catch {
    // The page of a proxy: its status is enough.
  }
  return typeof message === 'string' ? `${answer.status} ${message.slice(0, 300)}` : `status ${answer.status}`;
}

/** @param {unknown} error */
function reasonOf(error) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return `no answer (${cause instanceof Error ? cause.message : String(cause)})`;
}

/**
 * A required variable.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} name
 */
export function needed(env, name) {
  const value = env[name];
  if (value === undefined || value === '') throw new Refusal(`${name} is not set`);
  return value;
}

/**
 * Runs a script and sets the exit code: 1 with one line for an error that the user can fix.
 * @param {() => Promise<void>} work
 */
export async function script(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.stderr.write(`error: ${error.message.replace(/[\r\n]+/g, ' ')}\n`);
    process.exitCode = 1;
  }
}
