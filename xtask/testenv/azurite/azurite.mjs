// Azurite's blob service on loopback with one container: `node azurite.mjs PORT FOLDER CONTAINER`. Says `ready` when it is made.
import { createHmac } from 'node:crypto';

const [port, folder, container] = process.argv.slice(2);
// The account and the key that Azurite is known for.
const account = 'devstoreaccount1';
const key = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

// In this very process, so that whoever ends it has ended everything.
process.argv.splice(2, 3, '--silent', '--skipApiVersionCheck', '--blobHost', '127.0.0.1', '--blobPort', port, '--location', folder);
await import('azurite/dist/src/blob/main.js');

async function make() {
  const date = new Date().toUTCString();
  const version = '2023-11-03';
  const path = `/${account}/${container}`;
  // The text that a shared key signs: the method, eleven headers that are not sent, ours, the resource and its parameters.
  const text = `PUT${'\n'.repeat(12)}x-ms-date:${date}\nx-ms-version:${version}\n/${account}${path}\nrestype:container`;
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
  const headers = { 'x-ms-date': date, 'x-ms-version': version, authorization: `SharedKey ${account}:${signature}` };
  const answer = await fetch(`http://127.0.0.1:${port}${path}?restype=container`, { method: 'PUT', headers });
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
}

let last;
for (let tries = 0; tries < 300; tries += 1) {
  try {
    await make();
    console.log('ready');
    last = undefined;
    break;
  } catch (error) {
    last = error;
    await new Promise((later) => setTimeout(later, 200));
  }
}
if (last !== undefined) {
  console.error(last);
  process.exit(1);
}
