// Panel plugins: thin wrappers around the components that Grafana's own plugins wrap.
import { EventBusSrv, FieldConfigProperty, getDisplayValueAlignmentFactors, getFieldDisplayValues, PanelPlugin, PanelProps, VizOrientation } from '@grafana/data';
import { BarGauge, BigValue, PanelContextProvider, Table, TimeSeries, useTheme2, VizRepeater } from '@grafana/ui';

const CUSTOM = [
  'align', 'axisBorderShow', 'axisCenteredZero', 'axisColorMode', 'axisGridShow', 'axisLabel', 'axisPlacement', 'axisSoftMax',
  'axisSoftMin', 'axisWidth', 'barAlignment', 'barMaxWidth', 'barWidthFactor', 'cellOptions', 'drawStyle', 'fillBelowTo',
  'fillOpacity', 'filterable', 'gradientMode', 'hidden', 'hideFrom', 'insertNulls', 'inspect', 'lineColor', 'lineInterpolation',
  'lineStyle', 'lineWidth', 'minWidth', 'pointSize', 'scaleDistribution', 'showPoints', 'spanNulls', 'stacking', 'thresholdsStyle',
  'transform', 'width',
];

const DEFAULTS: Record<string, unknown> = { drawStyle: 'line', lineWidth: 1 };

function customOptions(builder: any) {
  for (const id of CUSTOM) {
    builder.addCustomEditor({
      id,
      path: id,
      name: id,
      editor: () => null,
      override: () => null,
      process: (value: unknown) => value,
      shouldApply: () => true,
      defaultValue: DEFAULTS[id],
      settings: {},
    });
  }
}

const bus = new EventBusSrv();

function Empty({ fieldConfig }: PanelProps<any>) {
  return (
    <div style={{ height: '100%', display: 'grid', placeItems: 'center', opacity: 0.6 }}>{fieldConfig.defaults.noValue ?? 'No data'}</div>
  );
}

function displays(props: PanelProps<any>, theme: any, sparkline: boolean) {
  return getFieldDisplayValues({
    data: props.data.series,
    fieldConfig: props.fieldConfig,
    reduceOptions: props.options.reduceOptions,
    replaceVariables: props.replaceVariables,
    sparkline,
    theme,
    timeZone: 'utc',
  } as any);
}

function Series(props: PanelProps<any>) {
  const { data, options, timeRange, width, height } = props;
  if (!data.series.length) {
    return <Empty {...props} />;
  }
  return (
    <PanelContextProvider value={{ eventsScope: 'panel', eventBus: bus, canAddAnnotations: () => false } as any}>
      <TimeSeries
        frames={data.series}
        structureRev={data.structureRev}
        timeRange={timeRange}
        timeZone="utc"
        width={width}
        height={height}
        legend={options.legend}
        options={options}
        replaceVariables={props.replaceVariables}
        dataLinkPostProcessor={() => undefined as any}
      >
        {() => <></>}
      </TimeSeries>
    </PanelContextProvider>
  );
}

function Stat(props: PanelProps<any>) {
  const theme = useTheme2();
  const { options } = props;
  return (
    <VizRepeater
      autoGrid
      source={props.data}
      width={props.width}
      height={props.height}
      orientation={VizOrientation.Auto}
      renderCounter={props.renderCounter}
      getValues={() => displays(props, theme, false)}
      renderValue={({ value, width, height, count, alignmentFactors }: any) => (
        <BigValue
          value={value.display}
          alignmentFactors={alignmentFactors}
          count={count}
          colorMode={options.colorMode}
          graphMode={options.graphMode}
          justifyMode={options.justifyMode}
          textMode={options.textMode}
          width={width}
          height={height}
          theme={theme}
        />
      )}
    />
  );
}

function Bars(props: PanelProps<any>) {
  const theme = useTheme2();
  const { options } = props;
  if (!props.data.series.length) {
    return <Empty {...props} />;
  }
  return (
    <VizRepeater
      source={props.data}
      width={props.width}
      height={props.height}
      orientation={options.orientation}
      itemSpacing={8}
      minVizHeight={options.minVizHeight}
      maxVizHeight={options.maxVizHeight}
      renderCounter={props.renderCounter}
      getValues={() => displays(props, theme, false)}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
      renderValue={({ value, width, height, orientation, alignmentFactors }: any) => (
        <BarGauge
          value={value.display}
          field={value.field}
          display={value.view?.getFieldDisplayProcessor(value.colIndex ?? 0)}
          alignmentFactors={alignmentFactors}
          displayMode={options.displayMode}
          valueDisplayMode={options.valueMode}
          showUnfilled={options.showUnfilled}
          namePlacement={options.namePlacement}
          orientation={orientation}
          itemSpacing={8}
          lcdCellWidth={12}
          width={width}
          height={height}
          theme={theme}
        />
      )}
    />
  );
}

function Rows(props: PanelProps<any>) {
  const frame = props.data.series[0];
  if (!frame?.length) {
    return <Empty {...props} />;
  }
  return <Table data={frame} width={props.width} height={props.height} timeRange={props.timeRange} />;
}

function Donut(props: PanelProps<any>) {
  const theme = useTheme2();
  const parts = displays(props, theme, false).filter((part) => part.display.numeric > 0);
  if (!parts.length) {
    return <Empty {...props} />;
  }
  const whole = parts.reduce((sum, part) => sum + part.display.numeric, 0);
  const radius = Math.min(props.width * 0.42, props.height) / 2 - 4;
  const around = 2 * Math.PI * radius * 0.8;
  let before = 0;
  return (
    <div style={{ display: 'flex', alignItems: 'center', gap: 16, height: props.height }}>
      <svg width={2 * radius} height={2 * radius} viewBox={`${-radius} ${-radius} ${2 * radius} ${2 * radius}`}>
        {parts.map((part, n) => {
          const share = part.display.numeric / whole;
          const ring = (
            <circle
              key={n}
              r={radius * 0.8}
              fill="none"
              stroke={part.display.color}
              strokeWidth={radius * 0.38}
              strokeDasharray={`${Math.max(share * around - 1.5, 0.5)} ${around}`}
              transform={`rotate(${before * 360 - 90})`}
            />
          );
          before += share;
          return ring;
        })}
      </svg>
      <table style={{ fontSize: 12, borderSpacing: 0, flex: 1 }}>
        <tbody>
          {parts.map((part, n) => (
            <tr key={n}>
              <td style={{ padding: '2px 6px 2px 0', whiteSpace: 'nowrap' }}>
                <span style={{ display: 'inline-block', width: 14, height: 4, borderRadius: 2, marginRight: 6, verticalAlign: 'middle', background: part.display.color }} />
                {part.display.title}
              </td>
              <td style={{ textAlign: 'right', padding: '2px 6px' }}>{Math.round((part.display.numeric / whole) * 100)}%</td>
              <td style={{ textAlign: 'right' }}>
                {part.display.prefix}
                {part.display.text}
                {part.display.suffix}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function plugin(component: any, color: string): PanelPlugin {
  return new PanelPlugin<any>(component).useFieldConfig({
    useCustomConfig: customOptions,
    standardOptions: {
      [FieldConfigProperty.Color]: { settings: { byValueSupport: true, bySeriesSupport: true }, defaultValue: { mode: color } },
    },
  } as any);
}

export const plugins: Record<string, PanelPlugin> = {
  timeseries: plugin(Series, 'palette-classic'),
  stat: plugin(Stat, 'thresholds'),
  bargauge: plugin(Bars, 'thresholds'),
  table: plugin(Rows, 'thresholds'),
  piechart: plugin(Donut, 'palette-classic'),
};
