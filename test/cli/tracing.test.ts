import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tracingFor } from '../../src/cli/tracing.ts';
import { API_KEY, agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

interface SentSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number };
}

/** A collector that records what it receives. */
async function collector() {
  const texts: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (more: string) => (text += more));
    request.on('end', () => {
      texts.push(`${request.url} ${text}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    texts,
    spans: (): SentSpan[] =>
      texts.flatMap((text) => {
        const { resourceSpans } = JSON.parse(text.slice(text.indexOf(' '))) as {
          resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[];
        };
        return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
      }),
    [Symbol.dispose]: () => void server.close(),
  };
}

let workspace: TestWorkspace;

beforeAll(async () => {
  workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
});
afterAll(() => workspace[Symbol.asyncDispose]());

describe('traces', () => {
  it('contain a span per run and one per request, and no key', async () => {
    using otlp = await collector();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=abc',
      OTEL_SERVICE_NAME: 'ours',
      OTEL_RESOURCE_ATTRIBUTES: 'nothing, team = a%20b , digest=YQ==',
    };
    expect((await workspace.start(['apply', '--auto-approve'], { env }).ended).code).toBe(0);
    const spans = otlp.spans();
    const [run] = spans.filter(({ name }) => name === 'voxform apply');
    const requests = spans.filter((span) => span !== run);
    expect(requests.map(({ name }) => name)).toContain('POST');
    expect(requests.every(({ parentSpanId }) => parentSpanId === run?.spanId)).toBe(true);
    const attributes = Object.fromEntries(
      requests.at(-1)?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? [],
    );
    expect(attributes).toMatchObject({
      'http.request.method': 'POST',
      'url.path': '/api/v1/agents',
      'http.response.status_code': 201,
    });
    expect(otlp.texts[0]).toMatch(/^\/v1\/traces .*"ours".*"a b".*"YQ=="/);
    expect(otlp.texts.join()).not.toMatch(new RegExp(`${API_KEY}|[Bb]earer|x-team`));
  });

  it('mark a failed run', async () => {
    using otlp = await collector();
    workspace.emulator.faults.add({ times: 20, fault: { status: 401 } });
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${otlp.url}/own` };
    expect((await workspace.start(['plan'], { env }).ended).code).toBe(1);
    workspace.emulator.faults.clear();
    const [run] = otlp.spans().filter(({ name }) => name === 'voxform plan');
    expect([run?.status.code, otlp.texts[0]?.startsWith('/own ')]).toEqual([2, true]);
  });

  it('change nothing if the collector is not reachable', { tags: ['long'] }, async () => {
    const [plain, traced] = await Promise.all([
      workspace.run('plan'),
      workspace.start(['plan'], { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' } }).ended,
    ]);
    expect(traced).toMatchObject({ ...plain, code: 0 });
  });

  it.each([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x' }, true],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console,otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, false],
    [{ OTEL_TRACES_EXPORTER: 'console', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, false],
    [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, false],
  ])('are recorded only if they are configured: %j', async (env, isEnabled) => {
    const tracing = await tracingFor(env);
    expect(tracing !== undefined).toBe(isEnabled);
    await tracing?.close();
  });
});
