import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/',
  define: { 'process.env.NODE_ENV': '"production"', 'process.env': '{}', global: 'globalThis' },
  esbuild: { jsx: 'automatic' },
  resolve: {
    // The scenes package asks for React Router through a compatibility layer that is not published.
    alias: { 'react-router-dom-v5-compat': fileURLToPath(new URL('src/router.ts', import.meta.url)) },
    dedupe: ['react', 'react-dom', 'rxjs', '@grafana/data', '@grafana/ui', '@grafana/runtime'],
  },
  build: {
    target: 'es2022',
    minify: false,
    chunkSizeWarningLimit: 100_000,
    rollupOptions: { shimMissingExports: true },
  },
});
