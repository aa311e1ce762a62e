import type { Resource } from '../../src/manifests/resource.ts';
import { Reference, Secret, type Value } from '../../src/values/value.ts';

type Spec = { readonly [key: string]: Value };

/** Returns a declared resource with defaults. */
export function resource(address: string, spec: Spec, options: Partial<Resource> = {}): Resource {
  const slash = address.indexOf('/');
  return {
    address,
    kind: address.slice(0, slash),
    name: address.slice(slash + 1),
    labels: {},
    id: undefined,
    previousNames: [],
    ignoreDrift: [],
    mayReplace: false,
    spec,
    source: { file: 'manifests/all.yaml', line: 1 },
    ...options,
  };
}

export function agent(name: string, spec: Spec = {}, options: Partial<Resource> = {}): Resource {
  return resource(`Agent/${name}`, { name, ...spec }, options);
}

export function number(name: string, spec: Spec, options: Partial<Resource> = {}): Resource {
  return resource(`PhoneNumber/${name}`, spec, options);
}

export function webhook(name: string, spec: Spec = {}, options: Partial<Resource> = {}): Resource {
  return resource(`Webhook/${name}`, { url: `https://example.com/${name}`, ...spec }, options);
}

export function user(name: string, spec: Spec = {}, options: Partial<Resource> = {}): Resource {
  return resource(`WorkspaceUser/${name}`, { email: `${name}@example.com`, ...spec }, options);
}

export function ref(address: string): Reference {
  const slash = address.indexOf('/');
  return new Reference(address.slice(0, slash), address.slice(slash + 1));
}

export function secret(name = 'KEY', text = 'sk-first-secret'): Secret {
  return new Secret(name, text);
}
