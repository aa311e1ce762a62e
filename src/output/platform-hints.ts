import type { PlatformError } from '../platform/errors.ts';

/** What may help after a request that did not succeed; undefined where the message says all there is to say. */
export function platformHint(error: PlatformError, baseUrl: string | undefined): string | undefined {
  const where = baseUrl === undefined ? 'base_url' : `base_url (${baseUrl})`;
  switch (error.reason) {
    case 'status':
      return statusHint(error);
    case 'gateway':
      return `check the workspace's ${where}; if it is right, a gateway before the platform has a problem: try again later`;
    case 'network':
      if (error.facts.nobodyHere === true)
        return `nothing listens there; start the emulator with \`voxform emulator\`, or check the workspace's ${where}`;
      if (error.facts.undecodable === true)
        return `the answer could not be decompressed; check the workspace's ${where} and any proxy before it${lost(error)}`;
      return `voxform could not reach the platform; check the workspace's ${where}, the network and any proxy${lost(error)}`;
    case 'timeout':
      return `the platform took too long; raise limits.timeout_seconds in voxform.yaml, or try again later${lost(error)}`;
    case 'aborted':
      return error.outcome === 'lost'
        ? 'the request was given up under way; the next plan shows whether it was carried out'
        : undefined;
    case 'held-back':
      return undefined;
    case 'malformed':
      return `the answer is not one of the platform's API; check that the workspace's ${where} is its address, without /api/v1`;
    case 'redirect':
      return `redirects are not followed, because they would carry the API key elsewhere; set the workspace's ${where} to the final address`;
    case 'too-large':
    case 'cursor-loop':
      return 'the platform answered in a way that voxform cannot use; try again, and tell those who run the platform if it stays so';
    default:
      return error.reason satisfies never;
  }
}

function statusHint(error: PlatformError): string | undefined {
  const { status = 0, field, method } = error.facts;
  if (status === 401)
    return "the platform does not accept the API key; check the workspace's api_key in voxform.yaml, or VOXFORM_API_KEY, and whether the key has expired";
  if (status === 403)
    return 'the API key may not do this; check that workspace_id and api_key belong together';
  if (status === 404 || status === 410)
    return "the platform knows nothing at this path; check the workspace's base_url and workspace_id, and whether the record exists";
  if (status === 408) return `try again later${lost(error)}`;
  if (status === 429)
    return 'the platform limits how fast it may be asked; lower limits.concurrency or set limits.requests_per_second in voxform.yaml, or try again later';
  if (status >= 500) return `the platform has a problem; try again later${lost(error)}`;
  // Only what is written comes from a manifest.
  return field === undefined || method === 'GET'
    ? undefined
    : `the platform objects to ${field}: change it in the manifest`;
}

function lost({ outcome }: PlatformError): string {
  return outcome === 'lost'
    ? '. Nobody knows whether the request was carried out: the next plan looks for it'
    : '';
}
