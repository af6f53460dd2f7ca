// The provider `oidc-provider` of npm on a free port: node provider.mjs DIRECTORY. It first says where it listens; then it
// reads a line with what it is to be:
//
//   {"redirect_uri", "logged_out_uri", "backchannel_uri", "secret", "alg", "email_in_token", "proof"}
//
// and says {"ready": true}. Whoever comes to sign in says who he is in the header x-account; an account whose name begins
// with "unverified" has an address that nobody vouches for.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { generateKeyPairSync } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(pathToFileURL(`${process.argv[2]}/node_modules/oidc-provider/lib/index.js`));

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const jwk = (kind, options, more) => ({ ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }), ...more });
const keys = [
  jwk('rsa', { modulusLength: 2048 }, { kid: 'rsa', use: 'sig' }),
  jwk('ec', { namedCurve: 'P-256' }, { kid: 'ec', use: 'sig', alg: 'ES256' }),
  jwk('ed25519', {}, { kid: 'ed', use: 'sig', alg: 'EdDSA' }),
];

let handle = (_, response) => response.writeHead(503).end();
const server = createServer((request, response) => handle(request, response));
server.listen(0, '127.0.0.1', () => say({ issuer: `http://127.0.0.1:${server.address().port}` }));

for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  const provider = new Provider(`http://127.0.0.1:${server.address().port}`, {
    clients: [{
      client_id: 'quintet',
      client_secret: told.secret,
      redirect_uris: [told.redirect_uri],
      post_logout_redirect_uris: [told.logged_out_uri],
      backchannel_logout_uri: told.backchannel_uri,
      backchannel_logout_session_required: true,
      id_token_signed_response_alg: told.alg,
      token_endpoint_auth_method: told.proof,
    }],
    clientAuthMethods: [told.proof],
    jwks: { keys },
    cookies: { keys: ['tests'] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // Without this the address is told by userinfo alone.
    conformIdTokenClaims: !told.email_in_token,
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    // Its own refuses loopback addresses.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined, signal: AbortSignal.timeout(10_000) }),
    pkce: { required: () => true },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id, name: id, email: `${id}@example.org`, email_verified: !id.startsWith('unverified'),
      }),
    }),
    loadExistingGrant: async (context) => {
      const grant = new provider.Grant({
        clientId: context.oidc.client.clientId, accountId: context.oidc.session.accountId,
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  provider.on('server_error', (_, error) => process.stderr.write(`${error.stack}\n`));
  provider.on('backchannel.error', (_, error) => process.stderr.write(`${error.stack}\n`));
  const own = provider.callback();
  handle = async (request, response) => {
    if (!request.url.startsWith('/interaction/')) return own(request, response);
    const accountId = request.headers['x-account'];
    const result = accountId ? { login: { accountId } } : { error: 'access_denied' };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
  say({ ready: true });
}
process.exit(0);
