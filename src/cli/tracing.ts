import type { Tracing } from './open-telemetry.ts';

/** Returns tracing if OpenTelemetry's standard variables enable it. Otherwise, its code is not loaded. */
export async function tracingFor(env: Readonly<Record<string, string | undefined>>): Promise<Tracing | undefined> {
  if (!isTracingEnabled(env)) return undefined;
  const { openTelemetry } = await import('./open-telemetry.ts');
  return openTelemetry(env);
}

function isTracingEnabled(env: Readonly<Record<string, string | undefined>>): boolean {
  const value = (name: string): string => (env[name] ?? '').trim();
  if (value('OTEL_SDK_DISABLED').toLowerCase() === 'true') return false;
  const exporters = value('OTEL_TRACES_EXPORTER')
    .split(',')
    .map((name) => name.trim());
  if (exporters.includes('otlp')) return true;
  const hasEndpoint = value('OTEL_EXPORTER_OTLP_ENDPOINT') !== '' || value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== '';
  return hasEndpoint && exporters.every((name) => name === '');
}
