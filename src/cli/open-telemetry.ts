import { once } from 'node:events';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { RequestEvent } from '../platform/transport.ts';
import { attempt } from '../problems/attempt.ts';
import type { Json } from '../values/json.ts';
import { VERSION } from '../version.ts';

type SpanAttributes = Readonly<Record<string, Json>>;

/** Creates spans of runs and their requests. Only one run is open at a time. */
export interface Tracing {
  begin(name: string): void;
  request(event: RequestEvent): void;
  /** Ends the span of the run. `error` is the reason for a failure. */
  end(attributes: SpanAttributes, error?: string): void;
  /** Sends the remaining spans. Never rejects, and takes at most two seconds. */
  close(): Promise<void>;
}

type TracedResource = NonNullable<NonNullable<ConstructorParameters<typeof BasicTracerProvider>[0]>['resource']>;

/** The maximum time to wait for the collector at the end of a command, and for the exporter's retries. */
const FLUSH_TIMEOUT_MS = 2000;

/** Returns tracing that sends spans to the collector named in the environment, as OTLP JSON over HTTP. */
export function openTelemetry(env: Readonly<Record<string, string | undefined>>): Tracing {
  const provider = new BasicTracerProvider({
    resource: resourceOf(env),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ timeoutMillis: FLUSH_TIMEOUT_MS }))],
  });
  const tracer = provider.getTracer('voxform', VERSION);
  let run: { readonly span: Span; readonly context: Context } | undefined;
  return {
    begin(name) {
      const span = tracer.startSpan(name, { kind: SpanKind.INTERNAL }, ROOT_CONTEXT);
      run = { span, context: trace.setSpan(ROOT_CONTEXT, span) };
    },
    request({ method, path, status, error, attempt, milliseconds }) {
      const end = Date.now();
      const attributes: Attributes = {
        'http.request.method': method,
        'url.path': path.split('?', 1)[0] ?? path,
        ...(status !== undefined && { 'http.response.status_code': status }),
        ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
        ...(error !== undefined && { 'error.type': error }),
      };
      const startTime = end - milliseconds;
      const span = tracer.startSpan(
        method,
        { kind: SpanKind.CLIENT, startTime, attributes },
        run?.context ?? ROOT_CONTEXT,
      );
      if (error !== undefined || (status ?? 0) >= 400) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(end);
    },
    end(attributes, error) {
      run?.span.setAttributes(prefixedAttributes(attributes));
      if (error !== undefined) run?.span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      run?.span.end();
      run = undefined;
    },
    async close() {
      const timeout = AbortSignal.timeout(FLUSH_TIMEOUT_MS);
      await Promise.race([provider.shutdown().catch(() => undefined), once(timeout, 'abort')]);
    },
  };
}

/** Returns the attributes with the prefix `voxform.`, without lists and objects. */
function prefixedAttributes(attributes: SpanAttributes): Attributes {
  const pairs = Object.entries(attributes).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  return Object.fromEntries(pairs.map(([key, value]) => [`voxform.${key}`, value])) as Attributes;
}

/** Returns the resource that `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` describe. */
function resourceOf(env: Readonly<Record<string, string | undefined>>): TracedResource {
  const fromEnv = (env.OTEL_RESOURCE_ATTRIBUTES ?? '').split(',').flatMap((pair) => {
    const [, key = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    return key === '' ? [] : [[key, attempt(() => decodeURIComponent(value)) ?? value] as const];
  });
  const attributes: Attributes = {
    'service.name': 'voxform',
    'service.version': VERSION,
    ...Object.fromEntries(fromEnv),
  };
  if (env.OTEL_SERVICE_NAME) attributes['service.name'] = env.OTEL_SERVICE_NAME;
  const resource: TracedResource = {
    attributes,
    getRawAttributes: () => Object.entries(attributes),
    merge: (other) => other ?? resource,
  };
  return resource;
}
