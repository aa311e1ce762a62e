import { type Checked, type Declaration, findingAt, findingInSpec, sourceText } from './declaration.ts';
import type { Finding } from './finding.ts';

/** Every manifest whose address occurs earlier. The first one is used. */
export function duplicateAddresses(declarations: readonly Declaration[]): {
  readonly unique: readonly Declaration[];
  readonly findings: readonly Finding[];
} {
  const again = [...repeated(declarations, ({ address }) => address)];
  const duplicates = new Set(again.map(([declaration]) => declaration));
  return {
    unique: duplicates.size === 0 ? declarations : declarations.filter((each) => !duplicates.has(each)),
    findings: again.map(([declaration, first]) => {
      const message = `${declaration.address} is already declared at ${sourceText(first.source)}`;
      return findingAt(declaration, ['metadata', 'name'], { code: 'duplicate-address', message });
    }),
  };
}

/** Members with the key of an earlier one, together with that one. Members without a key are never equal. */
function* repeated<Member>(
  members: readonly Member[],
  keyOf: (member: Member) => string | undefined,
): Generator<readonly [again: Member, first: Member]> {
  const firsts = new Map<string, Member>();
  for (const member of members) {
    const key = keyOf(member);
    if (key === undefined) continue;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, member);
    else yield [member, first];
  }
}

/**
 * Resources that would share a record, and names claimed twice. Reported at the later one.
 * @param counts whether `metadata.id` applies in the workspace.
 */
export function identityFindings(
  resources: readonly Checked[],
  counts: { readonly ids: boolean } = { ids: true },
): Finding[] {
  return [
    ...naturalKeyFindings(resources),
    ...(counts.ids ? idFindings(resources) : []),
    ...previousNameFindings(resources),
  ];
}

function* naturalKeyFindings(resources: readonly Checked[]): Generator<Finding> {
  const keyOf = ({ kind, naturalKey }: Checked) => naturalKey && `${kind.name}/${naturalKey.key}`;
  for (const [resource, { address, source }] of repeated(resources, keyOf)) {
    const { path = [] } = resource.naturalKey ?? {};
    const message = `${address} at ${sourceText(source)} has the same ${path.at(-1)}; both would manage the same record`;
    yield findingInSpec(resource, path, { code: 'duplicate-record', message });
  }
}

function* idFindings(resources: readonly Checked[]): Generator<Finding> {
  for (const [resource, { address, source }] of repeated(resources, ({ metadata }) => metadata.id)) {
    const message = `${address} at ${sourceText(source)} has the same metadata.id`;
    yield findingAt(resource, ['metadata', 'id'], { code: 'duplicate-id', message });
  }
}

function* previousNameFindings(resources: readonly Checked[]): Generator<Finding> {
  if (!resources.some(({ metadata }) => metadata.previous_names !== undefined)) return;
  const live = new Map(resources.map((resource) => [resource.address, resource]));
  const claims = new Map<string, Checked>();
  for (const resource of resources) {
    for (const [index, name] of (resource.metadata.previous_names ?? []).entries()) {
      const path = ['metadata', 'previous_names', index];
      const address = `${resource.kind.name}/${name}`;
      const owner = live.get(address);
      const claim = claims.get(address);
      if (owner !== undefined) {
        const message =
          owner === resource
            ? `${address} is the current name of the resource`
            : `${address} still has its own manifest, at ${sourceText(owner.source)}`;
        yield findingAt(resource, path, { code: 'live-previous-name', message });
      } else if (claim !== undefined && claim !== resource) {
        const message = `${claim.address} at ${sourceText(claim.source)} also has ${address} in previous_names`;
        yield findingAt(resource, path, { code: 'duplicate-previous-name', message });
      }
      claims.set(address, claim ?? resource);
    }
  }
}
