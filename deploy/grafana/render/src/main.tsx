// Draws /dashboard.json: its variables, its grid and its panels.
import { createTheme, ThemeContext } from '@grafana/data';
import * as runtime from '@grafana/runtime';
import {
  CustomVariable,
  EmbeddedScene,
  QueryVariable,
  registerRuntimeDataSource,
  SceneControlsSpacer,
  SceneDataTransformer,
  SceneGridItem,
  SceneGridLayout,
  SceneGridRow,
  SceneQueryRunner,
  SceneTimePicker,
  SceneTimeRange,
  SceneVariableSet,
  VariableValueSelectors,
  VizPanel,
} from '@grafana/scenes';
import { GlobalStyles, PortalContainer } from '@grafana/ui';
import { createRoot } from 'react-dom/client';
import { MemoryRouter } from 'react-router-dom';
import { map } from 'rxjs';
import { Prometheus } from './datasource';
import { plugins } from './panels';
import { fillRegistries } from './registries';

const SOURCE = { uid: 'prometheus', type: 'prometheus' };

function installPlugins(source: Prometheus) {
  const load = (id: string) => {
    const plugin = plugins[id];
    if (!plugin) {
      throw new Error(`no panel plugin ${id}`);
    }
    plugin.meta = { id, name: id, info: { version: '1', logos: {}, author: {} }, ...plugin.meta } as any;
    return plugin;
  };
  runtime.setPluginImportUtils({ importPanelPlugin: async (id: string) => load(id), getPanelPluginFromCache: load } as any);
  registerRuntimeDataSource({ dataSource: source });
  runtime.setDataSourceSrv({
    get: async () => source,
    getList: () => [],
    getInstanceSettings: () => ({ ...SOURCE, name: 'prometheus', meta: source.meta }),
    reload() {},
    registerRuntimeDataSource() {},
  } as any);
  runtime.setRunRequest?.(((target: any, request: any) =>
    target.query(request).pipe(map((answer: any) => ({ ...answer, series: answer.data, timeRange: request.range, request })))) as any);
}

function gridItem(panel: any) {
  const targets = panel.targets.map((target: any) => ({ ...target, datasource: SOURCE, lone: panel.targets.length === 1 }));
  const runner = new SceneQueryRunner({ datasource: SOURCE, queries: targets, maxDataPoints: panel.maxDataPoints, minInterval: panel.interval });
  const { x, y, w: width, h: height } = panel.gridPos;
  return new SceneGridItem({
    x,
    y,
    width,
    height,
    isDraggable: false,
    isResizable: false,
    body: new VizPanel({
      title: panel.title,
      description: panel.description,
      pluginId: panel.type,
      options: panel.options,
      fieldConfig: panel.fieldConfig,
      $data: panel.transformations ? new SceneDataTransformer({ $data: runner, transformations: panel.transformations }) : runner,
    }),
  });
}

/** A row's panels are its children; the file has them behind it. */
function grid(panels: any[]) {
  const rows: any[] = [];
  for (const panel of panels) {
    if (panel.type === 'row') {
      rows.push(new SceneGridRow({ title: panel.title, y: panel.gridPos.y, isCollapsed: false, isCollapsible: true, children: [] }));
    } else {
      const row = rows[rows.length - 1];
      row.setState({ children: [...row.state.children, gridItem(panel)] });
    }
  }
  return new SceneGridLayout({ isLazy: false, children: rows });
}

function variable(one: any) {
  const common = { name: one.name, label: one.label, hide: one.hide };
  if (one.type === 'custom') {
    return new CustomVariable({ ...common, query: one.query, value: one.current.value, text: one.current.text });
  }
  return new QueryVariable({
    ...common,
    datasource: SOURCE,
    query: one.query.query,
    isMulti: one.multi,
    includeAll: one.includeAll,
    allValue: one.allValue,
    value: '$__all',
    text: 'All',
    refresh: 1,
  });
}

async function draw() {
  fillRegistries();
  installPlugins(new Prometheus(SOURCE.uid));
  const dashboard = await (await fetch('/dashboard.json')).json();
  const asked = new URLSearchParams(location.search);
  const scene = new EmbeddedScene({
    $timeRange: new SceneTimeRange({ from: asked.get('from') ?? dashboard.time.from, to: asked.get('to') ?? dashboard.time.to, timeZone: 'utc' }),
    $variables: new SceneVariableSet({
      variables: dashboard.templating.list.filter((one: any) => one.type !== 'datasource').map(variable),
    }),
    controls: [new VariableValueSelectors({}), new SceneControlsSpacer(), new SceneTimePicker({})],
    body: grid(dashboard.panels),
  });
  createRoot(document.getElementById('root')!).render(
    <MemoryRouter>
      <ThemeContext.Provider value={createTheme({ colors: { mode: 'dark' } })}>
        <GlobalStyles />
        <div style={{ padding: 12 }}>
          <h3>{dashboard.title}</h3>
          <scene.Component model={scene} />
        </div>
        <PortalContainer />
      </ThemeContext.Provider>
    </MemoryRouter>
  );
}

draw().catch((error) => {
  document.body.innerText = `cannot draw: ${error.stack ?? error}`;
});
