import type { EmulatorBehaviour } from './behaviour.ts';

/** A problem with a request. `field` is a path such as `llm_config.model`, or empty for the whole request. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** An error that is returned as a response with a status of 400 or more. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly problems: readonly FieldProblem[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    more: {
      readonly problems?: readonly FieldProblem[];
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.problems = more.problems ?? [];
    this.headers = more.headers ?? {};
  }
}

export function notFound(noun: string): Refusal {
  return new Refusal(404, `${noun} not found`);
}

export function found<T>(record: T | undefined, noun: string): T {
  if (record === undefined) throw notFound(noun);
  return record;
}

export function invalid(problems: readonly FieldProblem[]): Refusal {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return new Refusal(422, `${first?.message ?? 'The request is invalid'}${more}`, { problems });
}

export function refusalResponse(refusal: Refusal, style: EmulatorBehaviour['errorStyle']): Response {
  const isHtml = style === 'html';
  const body = isHtml ? htmlPage(refusal) : JSON.stringify(jsonBody(refusal, style));
  return new Response(body, {
    status: refusal.status,
    headers: {
      'content-type': isHtml ? 'text/html; charset=utf-8' : 'application/json',
      ...refusal.headers,
    },
  });
}

function jsonBody({ message, problems }: Refusal, style: 'message' | 'errors' | 'detail'): unknown {
  switch (style) {
    case 'message':
      return { message };
    case 'errors':
      return problems.length === 0 ? { message } : { message, errors: byField(problems) };
    case 'detail':
      return {
        detail:
          problems.length === 0
            ? message
            : problems.map(({ field, message }) => ({
                loc: ['body', ...field.split('.')],
                msg: message,
                type: 'value_error',
              })),
      };
    default:
      return style satisfies never;
  }
}

function byField(problems: readonly FieldProblem[]): Record<string, readonly string[]> {
  const fields = [...Map.groupBy(problems, ({ field }) => field)];
  return Object.fromEntries(fields.map(([field, each]) => [field, each.map(({ message }) => message)]));
}

function htmlPage({ status, message }: Refusal): string {
  const text = message.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<!doctype html><html><head><title>${status}</title></head><body><h1>${status}</h1><p>${text}</p></body></html>`;
}
