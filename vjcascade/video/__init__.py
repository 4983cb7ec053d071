"""Video in and out: frames of files and cameras, video files written whole or not at all, a live window."""

from vjcascade.video.frames import VIDEO_SUFFIXES, Frame, camera_frames, is_video, read_frames
from vjcascade.video.sink import VideoSink
from vjcascade.video.window import LiveWindow

__all__ = [
    "VIDEO_SUFFIXES",
    "Frame",
    "LiveWindow",
    "VideoSink",
    "camera_frames",
    "is_video",
    "read_frames",
]
