// An OpenID provider on loopback: `node op.mjs PORT`. Access tokens of the client are signed (JWT), as CI systems give them.
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const issuer = `http://127.0.0.1:${process.argv[2]}`;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }] },
  clients: [{
    client_id: 'pipeline', client_secret: 's3cret', response_types: [], redirect_uris: [],
    grant_types: ['client_credentials'],
  }],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:kusion',
      getResourceServerInfo: () => ({
        scope: '', audience: 'kusion', accessTokenFormat: 'jwt', accessTokenTTL: 300, jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});
provider.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
