

def test_sizes_are_labelled_and_times_within_two_decades_too():
    series = {"sizes": (512, 1024, 4096), "times": (1.5e-5, 5.3e-5, 5.7e-5, 6.4e-4)}
    panels = [Panel((Series("a", x, x),), name, "y", scales=("log", "log")) for name, x in series.items()]
    figure = curves_figure(panels)
    figure.draw_without_rendering()
    labels = [[text.get_text() for text in axes.get_xticklabels()] for axes in figure.axes]
    sizes, times = ([label.replace("\N{MINUS SIGN}", "-") for label in own] for own in labels)
    assert ["512", "1Ki", "4Ki"] == sizes
    assert {"2e-05", "5e-05", "0.0001", "0.0002", "0.0005"} <= {*times}
    assert not {"5.3e-05", "5.7e-05"} & {*times}
