import type { PlatformError } from '../platform/platform-error.ts';

/** What may help after a request that did not succeed; undefined where the message says all there is to say. */
export function platformHint(error: PlatformError, baseUrl: string | undefined): string | undefined {
  const where = baseUrl === undefined ? 'base_url' : `base_url (${baseUrl})`;
  switch (error.reason) {
    case 'status':
      return statusHint(error);
    case 'gateway':
      if (error.status === 403)
        return `check the workspace's ${where}; if it is right, a gateway or firewall in front of the platform refuses this request: ask its operators to allow it`;
      return `check the workspace's ${where}; if it is right, a gateway in front of the platform is failing: try again later`;
    case 'network':
      if (error.facts.nobodyAt !== undefined)
        return `nothing is listening there; start the emulator with \`voxform emulator --port ${portOf(error.facts.nobodyAt)}\`, or check the workspace's ${where}`;
      if (error.facts.undecodable === true)
        return `the response could not be decompressed; check the workspace's ${where} and any proxy in front of it${lost(error)}`;
      if (error.facts.atProxy === true)
        return 'check the address, the user name and the password of the proxy in HTTPS_PROXY or HTTP_PROXY; NO_PROXY connects without it';
      return `the platform is unreachable; check the workspace's ${where}, the network and any proxy${lost(error)}`;
    case 'timeout':
      return `the platform took too long to answer; raise limits.timeout_seconds in voxform.yaml, or try again later${lost(error)}`;
    case 'aborted':
      return error.outcome === 'lost'
        ? 'the request was cancelled in flight; the next plan shows whether it succeeded'
        : undefined;
    case 'held-back':
    case 'empty':
      return undefined;
    case 'malformed':
      return `the response is not what the API documents; check that the workspace's ${where} is the platform's address, without /api/v1`;
    case 'redirect':
      return `set the workspace's ${where} to the final address; voxform follows no redirects, to keep the API key safe`;
    case 'too-large':
    case 'cursor-loop':
      if (error.facts.firstCalls !== undefined)
        return `to show these calls, without a date range: voxform get calls --limit ${error.facts.firstCalls}`;
      return 'voxform cannot use this response; try again, and report it to the platform if it persists';
    default:
      return error.reason satisfies never;
  }
}

function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? '80';
}

function statusHint(error: PlatformError): string | undefined {
  const { status = 0, field, method } = error.facts;
  if (status === 401)
    return "the API key was rejected; check the workspace's api_key in voxform.yaml, or VOXFORM_API_KEY, and whether the key has expired";
  if (status === 403) return 'the API key lacks permission; check that it belongs to workspace_id';
  if (status === 404 || status === 410)
    return "not found; check the workspace's base_url and workspace_id, and whether the record exists";
  if (status === 408) return `try again later${lost(error)}`;
  if (status === 429)
    return 'rate limited; set limits.requests_per_second or a lower limits.concurrency in voxform.yaml, or try again later';
  if (status >= 500) return `the platform is failing; try again later${lost(error)}`;
  // Only what is written comes from a manifest.
  return field === undefined || method === 'GET'
    ? undefined
    : `the platform rejected ${field}: change it in the manifest`;
}

function lost({ outcome }: PlatformError): string {
  return outcome === 'lost' ? '. The request may have succeeded: the next plan checks' : '';
}
