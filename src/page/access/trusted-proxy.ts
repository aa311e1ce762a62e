import { BlockList, isIP } from 'node:net';
import { ExitCode, UserError } from '../../problems/user-error.ts';

/** The proxies that may set the headers for the user, the client's address and the protocol. */
export class TrustedProxy {
  readonly #networks = new BlockList();

  /** @param networks such as `10.0.0.0/8`, `::1` or `fd00::/8`. @throws UserError */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', bits, ...rest] = network.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      const maxPrefix = family === 'ipv6' ? 128 : 32;
      const prefix = bits === undefined ? maxPrefix : Number(bits);
      if (isIP(address) === 0 || rest.length > 0 || !/^\d*$/.test(bits ?? '0') || bits === '' || prefix > maxPrefix) {
        throw new UserError(`--trust-proxy: ${JSON.stringify(network)} is not a network`, {
          hint: 'Use 10.0.0.0/8, fd00::/8 or a single address.',
          exitCode: ExitCode.usage,
        });
      }
      this.#networks.addSubnet(address, prefix, family);
    }
  }

  includes(address: string | undefined): boolean {
    if (address === undefined) return false;
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
    return isIP(plain) !== 0 && this.#networks.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
  }
}
