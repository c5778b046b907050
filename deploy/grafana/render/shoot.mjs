// node shoot.mjs PROMETHEUS_URL FOLDER [--to TIME] [NAME…]: a PNG of each dashboard.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const here = fileURLToPath(new URL('.', import.meta.url));
const { values, positionals } = parseArgs({ allowPositionals: true, options: { to: { type: 'string' }, from: { type: 'string' } } });
const [prometheus, folder, ...names] = positionals;
const dashboards = path.join(here, '../dashboards');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json' };
let current = '';

function file(pathname) {
  if (pathname === '/dashboard.json') return current;
  if (pathname.startsWith('/public/')) {
    return path.join(here, 'node_modules/@grafana/ui/dist/public', pathname.slice('/public/'.length).replace(/^build\//, ''));
  }
  return path.join(here, 'dist', pathname === '/' ? 'index.html' : pathname);
}

const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname.startsWith('/prometheus/')) {
    http.get(prometheus + url.pathname.slice('/prometheus'.length) + url.search, (answer) => {
      response.writeHead(answer.statusCode, { 'content-type': 'application/json' });
      answer.pipe(response);
    });
    return;
  }
  fs.readFile(file(url.pathname), (error, body) => {
    response.writeHead(error ? 404 : 200, { 'content-type': TYPES[path.extname(url.pathname)] ?? (url.pathname === '/' ? 'text/html' : 'application/octet-stream') });
    response.end(error ? '' : body);
  });
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const origin = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const query = new URLSearchParams(Object.entries(values));
for (const name of fs.readdirSync(dashboards).filter((name) => !names.length || names.some((part) => name.includes(part)))) {
  current = path.join(dashboards, name);
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  page.on('console', (message) => message.type() === 'error' && !message.text().includes('404') && console.log(`${name}: ${message.text().slice(0, 300)}`));
  page.on('pageerror', (error) => console.log(`${name}: ${String(error.stack).slice(0, 600)}`));
  await page.goto(`${origin}?${query}`);
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(4000);
  const picture = path.join(folder, `${path.basename(name, '.json')}.png`);
  await page.screenshot({ path: picture, fullPage: true });
  console.log(picture);
  await page.close();
}
await browser.close();
server.close();
